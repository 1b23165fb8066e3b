import { afterEach, describe, expect, it } from 'vitest';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';
import { run, seqs, StreamClient } from '../support/clients/stream-client.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function openBus(redis: TestRedis, maxEntries?: number): Promise<Bus> {
  const bus = await connectRedisBus([redis.url], silentLog, maxEntries === undefined ? {} : { maxEntries });
  cleanups.push(() => bus.close());
  return bus;
}

async function openGateway(redis: TestRedis): Promise<TestGateway> {
  const gateway = await startTestGateway({ bus: await openBus(redis) });
  cleanups.push(() => gateway.close());
  return gateway;
}

async function openClient(gateway: TestGateway): Promise<StreamClient> {
  const client = await new StreamClient(`ws://${gateway.host}/api/data?batch=1`, { authorization: `Bearer ${goodKey}` }).open();
  cleanups.push(() => client.close());
  return client;
}

async function openRedis(): Promise<TestRedis> {
  const redis = await startRedis({ appendOnly: true });
  cleanups.push(() => redis.stop());
  return redis;
}

/** Trades, in calls of a thousand, each by a new publisher. */
async function publishTrades(redis: TestRedis, count: number, maxEntries?: number): Promise<void> {
  const bus = await openBus(redis, maxEntries);
  const publisher = await bus.publisher();
  for (let sent = 0; sent < count; sent += 500) {
    await publisher.publish(Array.from({ length: Math.min(500, count - sent) }, (_, n) => entryOf(tradeEvent(addressOf(n % 10)))));
  }
  await publisher.close();
}

const topic = 'trades';
const idsOf = (client: StreamClient): (string | undefined)[] => client.frames(topic).map(({ data }) => data?.id);

describe('positions', () => {
  it('are the same on every gateway, and are accepted after a restart of publisher, gateways and Redis: 10,000 events back', async () => {
    const redis = await openRedis();
    const first = await openGateway(redis);
    const witness = await openClient(first);
    const joined = await witness.ask({ op: 'subscribe', channel: topic });
    const { epoch } = joined.positions![topic]!;
    await publishTrades(redis, 5_000);
    await witness.framesTo(topic, 5_000);
    await redis.kill();
    await redis.restart();
    await publishTrades(redis, 5_100);
    await witness.framesTo(topic, 10_100, 30_000);
    expect(seqs(witness.frames(topic))).toEqual(run(1, 10_100));
    const ids = idsOf(witness);
    expect(new Set(ids).size).toBe(10_100);
    const rejoined = await (await openClient(first)).ask({ op: 'subscribe', channel: topic });
    const restarted = rejoined.positions![topic]!.epoch;
    expect(restarted).not.toBe(epoch);
    await first.close();
    for (const gateway of [await openGateway(redis), await openGateway(redis)]) {
      const client = await openClient(gateway);
      const reply = await client.ask({ op: 'subscribe', channel: topic, since: { epoch, seq: 100 } });
      expect(reply.positions).toEqual({ [topic]: { epoch: restarted, seq: 100, recovered: true } });
      await client.framesTo(topic, 10_000, 30_000);
      expect(seqs(client.frames(topic))).toEqual(run(101, 10_100));
      expect(idsOf(client)).toEqual(ids.slice(100));
    }
  });

  it('older than the history are reported as such: not recovered, a gap, a snapshot, and the rest', async () => {
    const redis = await openRedis();
    const retained = 2_000;
    await publishTrades(redis, 12_000, retained);
    const gateway = await openGateway(redis);
    const client = await openClient(gateway);
    const { positions } = await client.ask({ op: 'subscribe', channel: topic });
    const { epoch, seq } = positions![topic]!;
    expect(seq).toBe(12_000);
    const late = await openClient(gateway);
    const reply = await late.ask({ op: 'subscribe', channel: topic, since: { epoch, seq: 10 }, snapshot: true });
    const after = reply.positions![topic]!;
    expect(after).toMatchObject({ epoch, recovered: false });
    expect(after.seq).toBeGreaterThan(10);
    expect(reply.snapshot).toMatchObject([{ topic, seq: 12_000 }]);
    const gap = await late.next('the gap', ({ op }) => op === 'gap');
    expect(gap).toMatchObject({ topic, from: 11, to: after.seq, reason: 'trimmed', epoch });
    await late.framesTo(topic, 12_000 - after.seq);
    expect(seqs(late.frames(topic))).toEqual(run(after.seq + 1, 12_000));
    expect(late.frames(topic).length).toBeGreaterThanOrEqual(retained);
    await redis.command('FLUSHALL');
    await until('the new epoch', () => client.messages.some(({ op, reason }) => op === 'gap' && reason === 'epoch'));
    const again = await openClient(gateway);
    const lost = await again.ask({ op: 'subscribe', channel: topic, since: { epoch, seq: 12_000 } });
    expect(lost.positions![topic]).toMatchObject({ seq: 0, recovered: false });
    expect(lost.positions![topic]!.epoch).not.toBe(epoch);
  });
});
