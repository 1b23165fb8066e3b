import { afterEach, describe, expect, it } from 'vitest';
import type { Bus, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { until } from '../support/gateway.ts';
import { formCluster, moveSlot, ownerOf } from '../support/servers/redis-cluster.ts';
import { isLevel, startRedis, type TestRedis } from '../support/servers/redis.ts';
import { publishOn, silentLog } from './bus-harness.ts';
import { entries, record, type Recorder } from './bus-recorder.ts';

const channel = '{sluice}:live';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Opened {
  readonly nodes: readonly TestRedis[];
  readonly bus: Bus;
  readonly publisher: BusPublisher;
  readonly recorder: Recorder;
}

/** Three nodes, and the requested number of replicas. */
async function open(replicas = 0): Promise<Opened> {
  const args = ['--cluster-node-timeout', '1500', '--repl-diskless-sync-delay', '0'];
  const nodes = await Promise.all(Array.from({ length: 3 + replicas }, () => startRedis({ cluster: true, appendOnly: true, args })));
  cleanups.push(() => Promise.all(nodes.map((node) => node.stop())));
  await formCluster(nodes);
  const urls = nodes.slice(0, 3).map(({ url }) => url);
  const bus = await connectRedisBus(urls, silentLog);
  cleanups.push(() => bus.close());
  return { nodes, bus, publisher: await bus.publisher(), recorder: await record(await bus.subscriber()) };
}

/** Resolves when announcements arrive again: an entry came that was not read from the log. */
async function heard(recorder: Recorder): Promise<void> {
  const from = recorder.entries.at(-1)?.offset ?? 0;
  await recorder.until(() => recorder.seen.some((one) => one.kind === 'entry' && !one.replayed && one.entry.offset > from));
}

describe('the bus on a cluster', () => {
  it('stores its log on one node, and announces by sharded pub/sub there alone', async () => {
    const { nodes, bus, publisher, recorder } = await open();
    await publisher.publish(entries(500, 'c', (index) => ['trades', `trades:m${index}`]));
    await recorder.untilOffset(500);
    const late = await record(await bus.subscriber());
    await bus.setStatus('s', { a: 1 }, 60_000);
    expect(await bus.statuses()).toEqual([{ name: 's', value: { a: 1 } }]);
    expect(Math.abs((await bus.timeMs())! - Date.now())).toBeLessThan(600_000);
    expect([recorder.faults, late.faults]).toEqual([[], []]);
    expect(late.texts).toEqual(recorder.texts);
    expect(late.subscriber.position('trades')).toBe(500);
    expect(recorder.seen.some((seen) => seen.kind === 'entry' && !seen.replayed)).toBe(true);
    expect(recorder.subscriber.counters.refills).toBe(0);
    const owner = await ownerOf(nodes, channel);
    for (const node of nodes) {
      expect(await node.command('PUBSUB', 'SHARDNUMSUB', channel)).toContain(node === owner ? ':2' : ':0');
      expect(await node.command('PUBSUB', 'NUMSUB', channel)).toContain(':0');
    }
  });

  it('loses nothing when the node with the log is killed and restarts', async () => {
    const { nodes, publisher, recorder } = await open();
    const going = publishOn(publisher, 'k');
    await recorder.untilOffset(200);
    const owner = await ownerOf(nodes, channel);
    await owner.kill();
    await recorder.until(() => recorder.seen.some((seen) => seen.kind === 'link' && !seen.up));
    await owner.restart();
    await heard(recorder);
    const count = await going.stop();
    await recorder.untilOffset(count);
    expect([recorder.faults, recorder.lost, recorder.subscriber.counters.epochChanges]).toEqual([[], [], 1]);
    expect(recorder.entries).toHaveLength(count);
  });

  it('continues on the replica that replaces a killed node', async () => {
    const { nodes, publisher, recorder } = await open(3);
    await publisher.publish(entries(300, 'a'));
    await recorder.untilOffset(300);
    const owner = await ownerOf(nodes, channel);
    const replica = nodes[nodes.indexOf(owner) + 3]!;
    await until('the replica to have everything', () => isLevel(owner, replica));
    await owner.kill();
    await publisher.publish(entries(20, 'b'));
    await recorder.untilOffset(320);
    await publisher.publish(entries(20, 'c'));
    await recorder.untilOffset(340);
    expect([recorder.faults, recorder.lost, recorder.subscriber.counters.epochChanges]).toEqual([[], [], 1]);
    expect(await replica.command('INFO', 'replication')).toContain('role:master');
  });

  it('follows its slot to another node under load', async () => {
    const { nodes, publisher, recorder } = await open();
    const going = publishOn(publisher, 'k');
    await recorder.untilOffset(200);
    const from = await ownerOf(nodes, channel);
    const to = nodes.find((node) => node !== from)!;
    await moveSlot(nodes, channel, from, to);
    expect(await ownerOf(nodes, channel)).toBe(to);
    await heard(recorder);
    const count = await going.stop();
    await recorder.untilOffset(count);
    expect([recorder.faults, recorder.lost, recorder.subscriber.counters.epochChanges]).toEqual([[], [], 1]);
    expect(recorder.entries).toHaveLength(count);
    expect(await to.command('PUBSUB', 'SHARDNUMSUB', channel)).toContain(':1');
  });
});
