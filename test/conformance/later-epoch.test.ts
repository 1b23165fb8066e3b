import { afterEach, describe, expect, it } from 'vitest';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { fastClock } from '../support/clocks.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { run, seqs, StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const mint = addressOf(1);
const topic = tradesTopic(mint);
const subscription = { op: 'subscribe', channel: 'trades', mints: [mint] };

async function openGateway(url: string, clock?: Clock): Promise<TestGateway> {
  const bus: Bus = await connectRedisBus([url], silentLog);
  const gateway = await startTestGateway({ bus, ...(clock && { clock }) });
  cleanups.push(async () => {
    await gateway.close();
    await bus.close();
  });
  return gateway;
}

async function openClient(gateway: TestGateway): Promise<StreamClient> {
  const client = await new StreamClient(`ws://${gateway.host}/api/data?api-key=${goodKey}`).open();
  cleanups.push(() => client.close());
  return client;
}

async function publish(gateway: TestGateway, count: number): Promise<void> {
  const entries = Array.from({ length: count }, () => entryOf(tradeEvent(mint)));
  await until('a publication', () =>
    gateway.publish(entries).then(
      () => true,
      () => false,
    ),
  );
}

async function restartWithoutLoss(redis: TestRedis): Promise<void> {
  await redis.kill();
  await redis.restart();
}

/** Two gateways, one of which is cut off from Redis while Redis restarts, and a client of the other one in the new epoch. */
async function stage(): Promise<{ ahead: TestGateway; behind: TestGateway; link: TcpProxy; redis: TestRedis; epoch: string }> {
  const redis = await startRedis({ appendOnly: true });
  cleanups.push(() => redis.stop());
  const link = await startTcpProxy(Number(new URL(redis.url).port));
  cleanups.push(() => link.close());
  const ahead = await openGateway(redis.url);
  const behind = await openGateway(`redis://127.0.0.1:${link.port}`);
  const [client, witness] = [await openClient(ahead), await openClient(behind)];
  for (const one of [client, witness]) await one.ask(subscription);
  await publish(ahead, 3);
  for (const one of [client, witness]) await one.framesTo(topic, 3);
  link.set({ refuses: true });
  link.cut();
  await restartWithoutLoss(redis);
  const { epoch } = await client.next('the new epoch', ({ op }) => op === 'gap');
  await publish(ahead, 3);
  await client.framesTo(topic, 6);
  return { ahead, behind, link, redis, epoch: String(epoch) };
}

describe('a client that comes from a gateway in a later epoch', () => {
  it('misses nothing and receives nothing twice', async () => {
    const { ahead, behind, link, epoch } = await stage();
    const client = await openClient(behind);
    const reply = await client.ask({ ...subscription, since: { epoch, seq: 5 } });
    expect(reply.positions![topic]).toEqual({ epoch, seq: 5, recovered: true });
    const heartbeat = await client.next('a heartbeat', ({ op }) => op === 'heartbeat');
    expect(heartbeat.positions).toEqual({ [topic]: { epoch, seq: 5 } });
    link.clear();
    await publish(ahead, 2);
    expect(seqs(await client.framesTo(topic, 3, 20_000))).toEqual(run(6, 8));
    expect(client.messages.filter(({ op }) => op === 'gap')).toEqual([]);
  });

  it('is notified of an epoch that follows before the gateway reaches its own', async () => {
    const { ahead, behind, link, redis, epoch } = await stage();
    const client = await openClient(behind);
    await client.ask({ ...subscription, since: { epoch, seq: 5 } });
    await restartWithoutLoss(redis);
    await publish(ahead, 2);
    link.clear();
    expect(seqs(await client.framesTo(topic, 3, 20_000))).toEqual(run(6, 8));
    const gaps = client.messages.filter(({ op }) => op === 'gap');
    expect(gaps).toMatchObject([{ topic, from: 6, to: 5, reason: 'epoch' }]);
    expect(gaps[0]!['epoch']).not.toBe(epoch);
  });

  it('is notified when the gateway does not reach that epoch', async () => {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const gateway = await openGateway(redis.url, fastClock(10));
    const client = await openClient(gateway);
    const first = await client.ask(subscription);
    await publish(gateway, 3);
    const late = await openClient(gateway);
    const since = { epoch: 'vvvvvvvvvabc', seq: 100 };
    expect((await late.ask({ ...subscription, since })).positions![topic]).toEqual({ ...since, recovered: true });
    const publishing = setInterval(() => void gateway.publish([entryOf(tradeEvent(mint))]), 50);
    cleanups.push(() => clearInterval(publishing));
    const gap = await late.next('the gap', ({ op }) => op === 'gap', 20_000);
    expect(gap).toMatchObject({ topic, to: null, reason: 'ahead', epoch: first.positions![topic]!.epoch });
    const [frame] = await late.framesTo(topic, 1);
    expect(frame!.seq).toBe(gap['from']);
  });
});
