import { afterEach, describe, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { Publisher } from '../../ingest/src/publisher/publisher.ts';
import type { PublishableEvent } from '../../ingest/src/publisher/outgoing.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import { consumeMarket } from '../support/product/market-consumer.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { fileOf, heldWay } from '../contract/lost-end.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import { until } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf } from '../support/events/stream-events.ts';
import { createHarness } from '../ingest/harness.ts';
import { buyFrames } from '../ingest/log-frames.ts';
import { logsSighting } from '../ingest/sightings.ts';
import { readLogsHead, readLogsLines } from '../../ingest/src/sources/pubsub/logs.ts';
import { someS, tradeOf } from './trades.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
const mint = addressOf(1);
async function busOf(url: string): Promise<Bus> {
  const bus = await createBus({ redisUrls: [url], log: silentLog });
  cleanups.push(() => bus.close());
  return bus;
}
async function counted(market: MarketStore, of = mint): Promise<number> {
  const [hour] = await market.buckets(of, '1h', 0, 0xffff_ffff, 10).catch(() => []);
  return hour === undefined ? 0 : hour.buys + hour.sells;
}
/** The keeper counts a trade only after those before it in the log, so a double count of them shows no later than that of the next trade. */
async function expectCountsOnce(bus: Bus, market: MarketStore, before: number): Promise<void> {
  const publisher = await bus.publisher();
  await publisher.publish([entryOf(tradeOf({ mint, atS: someS }))]);
  await publisher.close();
  await until('the next trade', async () => (await counted(market)) > before);
  expect(await counted(market)).toBe(before + 1);
}
async function isAllCounted(redis: TestRedis, market: MarketStore): Promise<boolean> {
  // The connection may still be down after a restart of Redis.
  const checkpoint = await market.checkpoint().catch(() => null);
  return checkpoint !== null && (await redis.command('GET', '{sluice}:offset')).includes(String(checkpoint.offset));
}
function someEvents(count: number): PublishableEvent[] {
  const { pipeline, events } = createHarness();
  for (const frame of buyFrames(Math.ceil(count / 2))) {
    const head = readLogsHead(frame)!;
    pipeline.takeNew(logsSighting({ signature: head.signature, slot: head.slot, logs: readLogsLines(frame, head)!, receivedUs: 1 }));
  }
  return events.slice(0, count) as PublishableEvent[];
}

describe('a log that lost its end', () => {
  it('counts no trade twice that was waiting when the end was lost', async () => {
    const redis = await startRedis({ appendOnly: true });
    cleanups.push(() => redis.stop());
    const way = await heldWay(redis);
    cleanups.push(() => way.close());
    const bus = await busOf(redis.url);
    const market = await createMarket({ redisUrls: [way.url], log: silentLog });
    cleanups.push(() => market.close());
    const keeper = consumeMarket({ bus, market, log: silentLog });
    cleanups.push(() => keeper.close(1000));
    const publisher = await bus.publisher();
    const trades = (n: number) => Array.from({ length: n }, () => entryOf(tradeOf({ mint, atS: someS })));
    await publisher.publish(trades(30));
    await until('30', async () => (await counted(market)) === 30);
    await until('checkpoint', async () => (await market.checkpoint())?.offset === 30);
    const file = await fileOf(redis);
    // The lease was just renewed, so that it outlives the restart.
    const before = file.size;
    await until('renewal', () => file.size > before);
    const { size } = file;
    way.hold();
    const lost = trades(10);
    await publisher.publish(lost);
    await sleep(60);
    await redis.kill();
    file.cutTo(size);
    await redis.restart();
    way.letGo();
    // A new leader finds that the log lacks them, and publishes them.
    const next = await busOf(redis.url);
    await (await next.publisher()).publish(lost);
    await until('all', async () => (await counted(market)) >= 40);
    await expectCountsOnce(await busOf(redis.url), market, 40);
  });

  it('counts no trade twice after a checkpoint that is beyond the end of its epoch', async () => {
    const redis = await startRedis({ appendOnly: true });
    cleanups.push(() => redis.stop());
    const bus = await busOf(redis.url);
    const market = await createMarket({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => market.close());
    const first = consumeMarket({ bus, market, log: silentLog });
    const publisher = await bus.publisher();
    await publisher.publish(Array.from({ length: 60 }, () => entryOf(tradeOf({ mint, atS: someS }))));
    await until('60', async () => (await counted(market)) === 60);
    await first.close(1000);
    const { epoch, offset } = (await market.checkpoint())!;
    await redis.kill();
    await redis.restart();
    await until('bus', async () => (await redis.command('GET', '{sluice}:offset')).includes('60'));
    // As if the market had lived longer than the end of the log.
    await redis.command('SET', '{sluice}:market:checkpoint', `${epoch} ${offset + 1}`);
    await until('a state', () =>
      bus.tail(1).then(
        () => true,
        () => false,
      ),
    );
    const second = consumeMarket({ bus, market, log: silentLog });
    cleanups.push(() => second.close(1000));
    await expectCountsOnce(bus, market, 60);
  });

  it('makes a publisher that was refused under a lease give the lease up, although it is still valid', async () => {
    const redis = await startRedis({ args: ['--enable-debug-command', 'yes'] });
    cleanups.push(() => redis.stop());
    const bus = await busOf(redis.url);
    const publisher = new Publisher(bus, silentLog);
    cleanups.push(() => publisher.close(0));
    publisher.requestLead();
    await until('lead', () => publisher.leads);
    const events = someEvents(20);
    publisher.push(events[0]!);
    await until('published', () => publisher.counts.published === 1);
    const fence = publisher.fence;
    await redis.command('DEBUG', 'CHANGE-REPL-ID');
    publisher.push(events[1]!);
    await until('fenced', () => !publisher.leads);
    // It is replaced by a replica that does not know that the term ended.
    const key = '{sluice}:lease:ingest';
    const wasGone = (await redis.command('GET', key)).includes('$-1');
    await redis.command('SET', key, String(fence), 'PX', '1500');
    expect(wasGone).toBe(true);
    await until('it to lead again', () => publisher.leads);
  });

  it('makes the next ingest process repeat nothing that the log still has', async () => {
    for (let tries = 0; tries < 4; tries += 1) {
      const redis = await startRedis({ appendOnly: true });
      cleanups.push(() => redis.stop());
      const [busA, busB, busK] = [await busOf(redis.url), await busOf(redis.url), await busOf(redis.url)];
      const market = await createMarket({ redisUrls: [redis.url], log: silentLog });
      cleanups.push(() => market.close());
      const keeper = consumeMarket({ bus: busK, market, log: silentLog });
      cleanups.push(() => keeper.close(1000));
      const a = new Publisher(busA, silentLog);
      cleanups.push(() => a.close(0));
      a.requestLead();
      await until('lead', () => a.leads);
      const b = new Publisher(busB, silentLog);
      cleanups.push(() => b.close(0));
      b.requestLead();
      const [forA, forB] = [someEvents(40), someEvents(40)];
      const push = (from: number, to: number): void => {
        for (let i = from; i < to; i += 1) {
          a.push(forA[i]!);
          b.push(forB[i]!);
        }
      };
      push(0, 30);
      await until('published', () => a.counts.published >= 30);
      const of = (forA.find(({ type }) => type === 'trade') as { mint: string }).mint;
      await until('counted', async () => (await counted(market, of)) === 1);
      await until('all', () => isAllCounted(redis, market));
      const file = await fileOf(redis);
      const { size } = file;
      push(30, 34);
      await until('published', () => a.counts.published >= 34);
      await redis.kill();
      file.cutTo(size);
      push(34, 36);
      await sleep(50);
      await redis.restart();
      await until('one leads', () => a.leads || b.leads);
      // What it repeats, it publishes before what arrives later.
      push(36, 40);
      const last = forA[39]! as StreamEvent;
      await until('the last', async () =>
        (await busK.tail(1).catch(() => []))
          .flatMap(eventsOfEntry)
          .some((event) => event.type === last.type && 'id' in event && 'id' in last && event.id === last.id),
      );
      await until('all again', () => isAllCounted(redis, market));
      const leader = a.leads ? 'a' : b.leads ? 'b' : 'none';
      expect(await counted(market, of), `trades of a coin that traded once; ${leader} leads`).toBe(1);
      for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
    }
  });
});
