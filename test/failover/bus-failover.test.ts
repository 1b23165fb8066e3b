import { afterEach, describe, expect, it, vi } from 'vitest';
import { connectRedisBus } from '@sluice/shared/bus/redis-bus.ts';
import { RedisConnection } from '@sluice/shared/bus/redis-connection.ts';
import { publishOn, silentLog } from '../contract/bus-harness.ts';
import { record, type Recorder } from '../contract/bus-recorder.ts';
import { until } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';
import { isFollowing, startCluster, startReplicas, type FleetNode, type RedisFleet } from './redis-fleet.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** One process on a bus: it publishes and follows. */
interface Party {
  readonly recorder: Recorder;
  readonly publishing: ReturnType<typeof publishOn>;
}

async function join(fleet: RedisFleet, user: string): Promise<Party> {
  const bus = await connectRedisBus(fleet.urlsOf(user), silentLog);
  const recorder = await record(await bus.subscriber());
  const publishing = publishOn(await bus.publisher(), user);
  cleanups.push(async () => {
    // Where a test fails it still publishes.
    publishing.stop().catch(() => undefined);
    await bus.close();
  });
  return { recorder, publishing };
}

async function open(start: typeof startCluster): Promise<RedisFleet> {
  const fleet = await start({ users: ['a', 'b'] });
  cleanups.push(() => fleet.close());
  return fleet;
}

/** Resolves when an entry came that was announced, and not read from the log. */
async function heard({ recorder }: Party): Promise<void> {
  const from = recorder.seen.length;
  await recorder.until(() => recorder.seen.slice(from).some((one) => one.kind === 'entry' && !one.replayed));
}

async function primaryOf(fleet: RedisFleet): Promise<FleetNode> {
  await until('one primary', async () => (await fleet.primaries()).length === 1, 20_000);
  return (await fleet.primaries())[0]!;
}

const namesBut = (fleet: RedisFleet, node: FleetNode): string[] => fleet.nodes.filter((other) => other !== node).map(({ name }) => name);

/** What both were handed in the epoch that is written now is the same, without a fault. */
async function agree(one: Party, other: Party): Promise<void> {
  await Promise.all([one.publishing.stop(), other.publishing.stop()]);
  const ends = (): number[] => [one, other].map(({ recorder }) => recorder.entries.at(-1)?.offset ?? 0);
  await until('both to have all', () => ends()[0] === ends()[1], 20_000);
  const newest = ({ recorder }: Party): readonly string[] => {
    const { epoch } = recorder.subscriber;
    return recorder.seen.flatMap((seen) =>
      seen.kind === 'entry' && seen.epoch === epoch ? [Buffer.from(seen.entry.json).toString()] : [],
    );
  };
  expect(newest(one)).toEqual(newest(other));
  expect([one.recorder.faults, other.recorder.faults]).toEqual([[], []]);
}

describe('a cluster of six nodes', () => {
  it(
    'is heard again at the replica when the node of the first address is gone, and tells of a split brain',
    { timeout: 90_000 },
    async () => {
      const fleet = await open(startCluster);
      const [one, other] = [await join(fleet, 'a'), await join(fleet, 'b')];
      await heard(other);
      const first = await primaryOf(fleet);
      expect(fleet.urlsOf('a')[0]).toContain(`:${first.port}`);
      await first.redis.kill();
      await primaryOf(fleet);
      await Promise.all([heard(one), heard(other)]);
      await first.redis.restart();
      const isFollowed = async (): Promise<boolean> => {
        const [primary] = await fleet.primaries();
        const replicas = primary === undefined ? [] : await fleet.replicasOf(primary);
        return replicas.length > 0 && (await Promise.all(replicas.map(isFollowing))).every(Boolean);
      };
      await until('the primary to have a replica again', isFollowed, 30_000);
      const heir = await primaryOf(fleet);

      const { epoch } = other.recorder.subscriber;
      // On one side of the cut the primary with one process, on the other all else.
      const heal = fleet.network.separate([heir.name, 'a'], [...namesBut(fleet, heir), 'b']);
      fleet.network.cut('b', heir.name);
      await until('both sides to have a primary', async () => (await fleet.primaries()).some((node) => node !== heir), 30_000);
      await heard(other);
      // The side with fewer primaries takes nothing more; what it took before is lost.
      const stopped = one.recorder.entries.length;
      expect(await heir.redis.command('CLUSTER', 'INFO')).toContain('cluster_state:fail');
      heal();
      await one.recorder.until(() => one.recorder.lost.length > 0);
      await other.recorder.until(() => other.recorder.lost.length > 0);
      expect(one.recorder.entries.length).toBeGreaterThanOrEqual(stopped);
      expect([one, other].map(({ recorder }) => recorder.lost.map(({ reason }) => reason))).toEqual([['epoch'], ['epoch']]);
      expect(other.recorder.subscriber.epoch).not.toBe(epoch);
      await agree(one, other);
    },
  );
});

// Real servers are killed and stopped, and a busy machine can pass the two seconds.
describe('a primary and two replicas', { retry: 2 }, () => {
  it(
    'are left for the promoted one within two seconds when the primary hangs, and a split brain is told',
    { timeout: 60_000 },
    async () => {
      const fleet = await open(startReplicas);
      const [one, other] = [await join(fleet, 'a'), await join(fleet, 'b')];
      await heard(other);
      const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
      const heal = fleet.network.separate([first.name, 'a'], [second.name, third.name, 'b']);
      fleet.network.cut('b', first.name);
      await second.redis.command('REPLICAOF', 'NO', 'ONE');
      const promotedMs = performance.now();
      await heard(other);
      expect(performance.now() - promotedMs).toBeLessThan(4_000);
      // Without `min-replicas-to-write` both sides go on; each is whole for itself.
      await heard(one);
      expect([one.recorder.faults, other.recorder.faults, one.recorder.lost, other.recorder.lost]).toEqual([[], [], [], []]);
      heal();
      await first.redis.command('REPLICAOF', '127.0.0.1', String(second.port));
      await third.redis.command('REPLICAOF', '127.0.0.1', String(second.port));
      await Promise.all([one, other].map(({ recorder }) => recorder.until(() => recorder.lost.length > 0)));
      expect([one, other].map(({ recorder }) => recorder.lost.map(({ reason }) => reason))).toEqual([['epoch'], ['epoch']]);
      await Promise.all([heard(one), heard(other)]);
      await agree(one, other);
    },
  );

  it('take nothing on the smaller side of a split brain with min-replicas-to-write', { timeout: 60_000 }, async () => {
    const fleet = await startReplicas({ users: ['a', 'b'], args: ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '1'] });
    cleanups.push(() => fleet.close());
    const one = await join(fleet, 'a');
    await heard(one);
    const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
    const heal = fleet.network.separate([first.name, 'a'], [second.name, third.name]);
    await until('it to refuse', async () => (await first.redis.command('SET', 'x', '1')).startsWith('-NOREPLICAS'), 10_000);
    const { length } = one.recorder.entries;
    heal();
    // What waited meanwhile is stored then: nothing was lost, as nobody took its place.
    await one.recorder.until(() => one.recorder.entries.length > length + 10);
    expect([one.recorder.lost, one.recorder.faults]).toEqual([[], []]);
    await one.publishing.stop();
  });

  it('are heard by whoever listened at the one that changed places and is cut off then', { timeout: 60_000 }, async () => {
    const fleet = await open(startReplicas);
    const one = await join(fleet, 'a');
    await heard(one);
    const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
    await first.redis.command('FAILOVER', 'TO', '127.0.0.1', String(second.port));
    await until('the change of places', async () => (await fleet.primaries())[0] === second, 20_000);
    // Announcements reach the replica that it is now through the primary, until nothing does.
    await heard(one);
    fleet.network.separate([first.name], [second.name, third.name]);
    await heard(one);
    await until('it to be cut off', async () => (await first.redis.command('PUBSUB', 'NUMSUB', '{sluice}:live')).includes(':0'), 10_000);
    await heard(one);
    expect([one.recorder.lost, one.recorder.faults]).toEqual([[], []]);
    await one.publishing.stop();
  });
});

describe('a connection', () => {
  it('is not ended by the time limit of the one before it', { timeout: 30_000 }, async () => {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const connection = await RedisConnection.open([redis.url], 'test', silentLog);
    cleanups.push(() => connection.close());
    // From here on time passes as the test says; sockets go on by themselves.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    redis.pause();
    const unanswered = connection.text('PING').catch((error: unknown) => error);
    await redis.kill();
    expect(await unanswered).toBeInstanceOf(Error);
    await redis.restart();
    let ready = 0;
    connection.onReady(() => (ready += 1));
    for (let ms = 0; !connection.ready && ms < 4_000; ms += 50) {
      await vi.advanceTimersByTimeAsync(50);
      for (let turns = 0; turns < 50; turns += 1) await turn();
    }
    expect(ready).toBe(1);
    expect(await connection.text('PING')).toBe('PONG');
    await vi.advanceTimersByTimeAsync(10_000);
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect([ready, connection.ready]).toEqual([1, true]);
  });
});
