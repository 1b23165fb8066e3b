import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { Publisher } from '../../ingest/src/publisher/publisher.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { run, seqs, StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, tradeEvent } from '../support/events/stream-events.ts';

/** Events that the queue of the publisher holds, and events that do not fit into it any more. */
const [queued, more] = [50_000, 40];

describe('events that ingest drops while Redis does not accept any', () => {
  let redis: TestRedis;
  const buses: Bus[] = [];
  let server: TestGateway;
  let publisher: Publisher;
  beforeAll(async () => {
    redis = await startRedis();
    for (let at = 0; at < 2; at++) buses.push(await connectRedisBus([redis.url], silentLog));
    server = await startTestGateway({ bus: buses[0]!, config: { redisUrls: [redis.url] } });
    publisher = new Publisher(buses[1]!, silentLog);
    publisher.requestLead();
    await until('the publisher to lead', () => publisher.leads);
  });
  afterAll(async () => {
    redis.resume();
    await publisher.close(1_000);
    await server.close();
    for (const bus of buses) await bus.close();
    await redis.stop();
  });

  it('are reported to clients with their slots, before the events that were queued', async () => {
    const [mint, quiet, other] = [addressOf(91_001), addressOf(91_002), addressOf(91_003)];
    const topic = tradesTopic(mint);
    const connect = (): Promise<StreamClient> => new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`).open();
    const follow = { op: 'subscribe', channel: 'trades', mints: [mint, quiet] };
    const client = await connect();
    const { positions } = await client.ask(follow);
    publisher.push(tradeEvent(mint, { slot: 500 }));
    expect(seqs(await client.framesTo(topic, 1))).toEqual([1]);

    const queuedEvents = Array.from({ length: queued }, (_, at) =>
      at < more ? tradeEvent(mint, { slot: 600 }) : tradeEvent(other, { slot: 601 }),
    );
    const furtherEvents = Array.from({ length: more }, () => tradeEvent(mint, { slot: 602 }));
    redis.pause();
    for (const event of queuedEvents) publisher.push(event);
    expect(publisher.counts.dropped).toBe(0);
    for (const event of furtherEvents) publisher.push(event);
    expect(publisher.counts.dropped).toBe(more);
    redis.resume();

    const gap = await client.next('the gap', ({ op, topic: of }) => op === 'gap' && of === topic, 30_000);
    const signatures = queuedEvents.slice(0, 16).map(({ signature }) => signature);
    expect(gap).toMatchObject({ from: 2, to: null, reason: 'unseen', slots: { from: 600, to: 600 }, signatures });
    const frames = await client.framesTo(topic, 1 + more, 30_000);
    expect(seqs(frames)).toEqual(run(1, 1 + more));
    expect(frames.slice(1).map(({ data }) => data!['slot'])).toEqual(furtherEvents.map(({ slot }) => slot));
    expect(client.messages.indexOf(gap)).toBeLessThan(client.messages.indexOf(frames[1]!));
    expect(client.messages.some(({ op, topic: of }) => op === 'gap' && of === tradesTopic(quiet))).toBe(true);

    // A client that resumes from before the loss gets the report too.
    const resumed = await connect();
    const reply = await resumed.ask({ ...follow, mints: [mint], since: { epoch: positions![topic]!.epoch, seq: 1 } });
    expect(reply.positions![topic]).toMatchObject({ seq: 1, recovered: false });
    expect(await resumed.next('the gap', ({ op }) => op === 'gap')).toMatchObject({ topic, from: 2, reason: 'unseen' });
    client.close();
    resumed.close();
  });
});
