import { afterEach, describe, expect, it } from 'vitest';
import type { BusPublisher } from '@sluice/shared/bus/bus.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { until } from '../support/gateway.ts';
import { isLevel, startRedis, type TestRedis } from '../support/servers/redis.ts';
import { publishOn, silentLog } from './bus-harness.ts';
import { entries, record, type Recorder } from './bus-recorder.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Pair {
  readonly primary: TestRedis;
  readonly replica: TestRedis;
  readonly publisher: BusPublisher;
  readonly recorder: Recorder;
}

async function replicaOf(primary: TestRedis): Promise<TestRedis> {
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port), '--repl-diskless-sync-delay', '0'] });
  cleanups.push(() => replica.stop());
  await until('the replica to follow', async () => (await replica.command('INFO', 'replication')).includes('master_link_status:up'));
  return replica;
}

async function openPair(order: 'primary first' | 'replica first' = 'primary first'): Promise<Pair> {
  const primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  cleanups.push(() => primary.stop());
  const replica = await replicaOf(primary);
  const urls = [primary.url, replica.url];
  const bus = await connectRedisBus(order === 'primary first' ? urls : urls.toReversed(), silentLog);
  cleanups.push(() => bus.close());
  return { primary, replica, publisher: await bus.publisher(), recorder: await record(await bus.subscriber()) };
}

describe('a primary and its replica', () => {
  it.each(['primary first', 'replica first'] as const)('are used by their role, in any order: %s', async (order) => {
    const { primary, publisher, recorder } = await openPair(order);
    await publisher.publish(entries(5, 'a'));
    await recorder.untilOffset(5);
    expect(await primary.command('GET', '{sluice}:offset')).toContain('5');
    expect(recorder.faults).toEqual([]);
  });

  it('lose nothing when the primary dies and an up-to-date replica takes its place', async () => {
    const { primary, replica, publisher, recorder } = await openPair();
    await publisher.publish(entries(100, 'a'));
    await recorder.untilOffset(100);
    const { epoch } = recorder.subscriber;
    await until('the replica to have everything', () => isLevel(primary, replica));
    await primary.kill();
    const waiting = publisher.publish(entries(50, 'b'));
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await waiting;
    await recorder.untilOffset(150);
    expect([recorder.faults, recorder.lost]).toEqual([[], []]);
    expect(recorder.subscriber.epoch).not.toBe(epoch);
    expect(recorder.texts.slice(100, 102)).toEqual(['b0', 'b1']);
  });

  it('lose nothing when they swap roles under load while both are alive', async () => {
    const { primary, replica, publisher, recorder } = await openPair();
    const going = publishOn(publisher, 'k');
    await recorder.untilOffset(300);
    // As an operator does it: writes stop, the replica catches up, the roles swap.
    await primary.command('FAILOVER');
    await until('the change of places', async () => (await primary.command('INFO', 'replication')).includes('role:slave'));
    const offset = recorder.entries.at(-1)?.offset ?? 0;
    await recorder.untilOffset(offset + 300);
    const count = await going.stop();
    await recorder.untilOffset(count);
    expect([recorder.faults, recorder.lost]).toEqual([[], []]);
    expect(recorder.entries).toHaveLength(count);
    expect(await replica.command('INFO', 'replication')).toContain('role:master');
  });

  it('report the loss if the replica lacked the end of the log', async () => {
    const { primary, replica, publisher, recorder } = await openPair();
    await publisher.publish(entries(20, 'a'));
    await recorder.untilOffset(20);
    const { epoch } = recorder.subscriber;
    await until('the replica to have everything', () => isLevel(primary, replica));
    // As after a partition: it takes the place of a primary that still writes.
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await publisher.publish(entries(7, 'lost'));
    await recorder.untilOffset(27);
    await primary.kill();
    await publisher.publish(entries(3, 'b'));
    await recorder.until(() => recorder.texts.at(-1) === 'b2');
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost.map(({ reason }) => reason)).toEqual(['epoch']);
    expect(recorder.subscriber.epoch).not.toBe(epoch);
    expect(recorder.entries.at(-1)).toMatchObject({ offset: 23 });
  });

  it('start while one of them is unavailable, but not without a primary', async () => {
    const { primary, replica } = await openPair();
    const urls = [primary.url, replica.url];
    await replica.kill();
    await (await connectRedisBus(urls, silentLog)).close();
    await replica.restart();
    await primary.kill();
    await expect(connectRedisBus(urls, silentLog)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await (await connectRedisBus(urls, silentLog)).close();
  });
});
