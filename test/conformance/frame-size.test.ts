import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formats } from '@sluice/shared/wire/stream/frames.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { pricesTopic, tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { run, seqs, StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, priceEvent, tradeEvent } from '../support/events/stream-events.ts';
import { transports } from '../support/transports.ts';

const mints = Array.from({ length: 1_000 }, (_, at) => addressOf(50_000 + at));
const busy = addressOf(60_000);
const perMint = 2;
const busyTrades = 2_000;

describe.each(transports.flatMap((transport) => formats.map((format) => [transport, format] as const)))(
  'frames over %s as %s',
  (transport, format) => {
    let server: TestGateway;
    const clients: StreamClient[] = [];
    beforeAll(async () => {
      server = await startTestGateway({ transport });
    });
    afterAll(async () => {
      for (const client of clients) client.close();
      await server.close();
    });
    async function open(batch: boolean): Promise<StreamClient> {
      const client = new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}&format=${format}${batch ? '&batch=1' : ''}`);
      clients.push(client);
      return await client.open();
    }
    const publishTo = (count: number) =>
      server.publish(mints.flatMap((mint) => Array.from({ length: count }, () => entryOf(tradeEvent(mint)))));

    it.each([false, true])('of 1,000 mints are at most 32 KiB: reply, snapshot, resume, heartbeats, batches (batch: %s)', async (batch) => {
      const [client, again] = [await open(batch), await open(batch)];
      const first = await client.ask({
        op: 'subscribe',
        channel: 'trades',
        mints: [...mints, busy, ...Array.from({ length: 200 }, (_, at) => `${at}${'?'.repeat(200)}`)],
      });
      expect(first.accepted).toEqual([...mints, busy]);
      expect(first.rejected).toHaveLength(200);
      expect(Object.keys(first.positions!)).toEqual([...mints, busy].map(tradesTopic));
      const before = first.positions![tradesTopic(busy)]!.seq;

      await publishTo(perMint);
      await server.publish(Array.from({ length: busyTrades }, () => entryOf(tradeEvent(busy))));
      expect(seqs(await client.framesTo(tradesTopic(busy), busyTrades))).toEqual(run(before + 1, before + busyTrades));

      // All topics moved, so heartbeats name all of them, in several messages.
      const newest = Object.fromEntries(
        Object.entries(first.positions!).map(([topic, { seq }]) => [topic, seq + (topic.endsWith(busy) ? busyTrades : perMint)]),
      );
      await until('heartbeats', () => {
        const named = Object.assign(
          {},
          ...client.messages.flatMap(({ op, positions }) => (op === 'heartbeat' ? [positions] : [])),
        ) as typeof first.positions;
        return Object.entries(newest).every(([topic, seq]) => named?.[topic]?.seq === seq);
      });

      const resumed = await again.ask({ op: 'subscribe', channel: 'trades', mints: [...mints, busy], since: first.positions });
      expect(new Set(Object.values(resumed.positions!).map(({ recovered }) => recovered))).toEqual(new Set([true]));
      expect(seqs(await again.framesTo(tradesTopic(busy), busyTrades))).toEqual(run(before + 1, before + busyTrades));
      for (const mint of mints) expect(await again.framesTo(tradesTopic(mint), perMint)).toHaveLength(perMint);

      await server.publish(mints.map((mint) => entryOf(priceEvent(mint))));
      const newestPrices = await until('all snapshots', async () => {
        const { snapshot } = await again.ask({ op: 'subscribe', channel: 'prices', mints, snapshot: true });
        return snapshot!.length === mints.length && snapshot;
      });
      expect(newestPrices.map(({ topic }) => topic)).toEqual(mints.map(pricesTopic));

      const listed: unknown[] = [];
      for (let after: unknown = undefined; after !== null;) {
        const page: Record<string, unknown> = await again.ask({ op: 'list', ...(after === undefined ? {} : { after }) });
        for (const entry of page['subscriptions'] as { channel: string; mints: string[] }[])
          listed.push(...entry.mints.map((mint) => `${entry.channel}:${mint}`));
        after = page['next'];
      }
      expect(listed).toEqual([...[...mints, busy].map(tradesTopic), ...mints.map(pricesTopic)]);

      const ended = await again.ask({ op: 'unsubscribe', channel: 'trades' });
      expect(ended.removed).toEqual([...mints, busy].map(tradesTopic));
      expect(Object.keys(ended.positions!)).toEqual(ended.removed);

      // Filters of almost 5 KB each.
      const trader = Array.from({ length: streamLimits.filterValues }, (_, at) => addressOf(70_000 + at));
      const filtered = mints.slice(0, 20);
      for (const [at, mint] of filtered.entries()) {
        await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], filter: { trader, minSol: at } });
      }
      const pages: (readonly { readonly mints: readonly string[]; readonly filter: unknown }[])[] = [];
      for (let after: unknown = undefined; after !== null;) {
        const page: Record<string, unknown> = await client.ask({ op: 'list', ...(after === undefined ? {} : { after }) });
        pages.push(page['subscriptions'] as (typeof pages)[number]);
        after = page['next'];
      }
      expect(pages.flat().flatMap(({ filter, mints: named }) => (filter === null ? [] : named))).toEqual(filtered);

      for (const { longest } of [client, again]) {
        expect(longest).toBeLessThanOrEqual(streamLimits.frameBytes);
        // They are not smaller than they need to be.
        expect(longest).toBeGreaterThan(streamLimits.frameBytes * 0.75);
      }
    });
  },
);
