import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as realPause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { ask } from '@sluice/shared/bus/redis/redis-connect.ts';
import { RedisConnection } from '@sluice/shared/bus/redis/redis-connection.ts';
import { publishOn, silentLog } from '../contract/bus-harness.ts';
import { record, type Recorder } from '../contract/bus-recorder.ts';
import { until } from '../support/gateway.ts';
import { isLevel, startRedis } from '../support/servers/redis.ts';
import { isFollowing, startCluster, startReplicas, type FleetNode, type RedisFleet } from './redis-fleet.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** One process on a bus: it follows the log, and publishes until it pauses. */
interface Party {
  readonly recorder: Recorder;
  pause(): Promise<void>;
  resume(): void;
}

async function join(fleet: RedisFleet, user: string): Promise<Party> {
  const bus = await connectRedisBus(fleet.urlsOf(user), silentLog);
  const recorder = await record(await bus.subscriber());
  const publisher = await bus.publisher();
  let publishing = publishOn(publisher, user);
  cleanups.push(async () => {
    // If a test fails, it is still publishing.
    publishing.stop().catch(() => undefined);
    await bus.close();
  });
  return {
    recorder,
    pause: async () => void (await publishing.stop()),
    resume: () => (publishing = publishOn(publisher, user)),
  };
}

/** Publishing pauses until a replica has all data of its primary. From here on, a cut between them loses what is published. */
async function pauseLevel(parties: readonly Party[], primary: FleetNode, replica: FleetNode): Promise<void> {
  await Promise.all(parties.map((party) => party.pause()));
  await until('the replica to have everything', () => isLevel(primary.redis, replica.redis));
}

async function open(start: typeof startCluster): Promise<RedisFleet> {
  const fleet = await start({ users: ['a', 'b'] });
  cleanups.push(() => fleet.close());
  return fleet;
}

/** Resolves when an entry arrived that was announced, and not read from the log. */
async function heard({ recorder }: Party): Promise<void> {
  const from = recorder.seen.length;
  await until('an announced entry', () => recorder.seen.slice(from).some((one) => one.kind === 'entry' && !one.replayed), 50_000);
}

async function primaryOf(fleet: RedisFleet): Promise<FleetNode> {
  await until('one primary', async () => (await fleet.primaries()).length === 1);
  return (await fleet.primaries())[0]!;
}

/** A replica that receives the writes of its primary. */
async function replicaOf(fleet: RedisFleet, primary: FleetNode): Promise<FleetNode> {
  const isFollowed = async (): Promise<FleetNode | undefined> => {
    const replicas = await fleet.replicasOf(primary);
    return replicas.length > 0 && (await Promise.all(replicas.map(isFollowing))).every(Boolean) ? replicas[0] : undefined;
  };
  return until('a replica that follows', isFollowed, 30_000);
}

const namesBut = (fleet: RedisFleet, node: FleetNode): string[] => fleet.nodes.filter((other) => other !== node).map(({ name }) => name);

/** Both have received the same in the current epoch, without a fault. */
async function agree(one: Party, other: Party): Promise<void> {
  await Promise.all([one.pause(), other.pause()]);
  const ends = (): number[] => [one, other].map(({ recorder }) => recorder.entries.at(-1)?.offset ?? 0);
  await until('both to have all', () => ends()[0] === ends()[1]);
  const newest = ({ recorder }: Party): Map<number, string> => {
    const { epoch } = recorder.subscriber;
    const own = recorder.seen.flatMap((seen) => (seen.kind === 'entry' && seen.epoch === epoch ? [seen.entry] : []));
    return new Map(own.map((entry) => [entry.offset, Buffer.from(entry.record).toString('latin1')]));
  };
  // One of them may have joined the epoch earlier than the other.
  const others = newest(other);
  const both = [...newest(one)].filter(([offset]) => others.has(offset));
  expect(both.length).toBeGreaterThan(0);
  expect(both).toEqual(both.map(([offset]) => [offset, others.get(offset)]));
  expect([one.recorder.faults, other.recorder.faults]).toEqual([[], []]);
}

describe('a cluster of six nodes', () => {
  it(
    'receives from the replica again when the node of the first address is gone, and reports a split brain',
    { timeout: 90_000 },
    async () => {
      const fleet = await open(startCluster);
      const [one, other] = [await join(fleet, 'a'), await join(fleet, 'b')];
      await heard(other);
      const first = await primaryOf(fleet);
      expect(fleet.urlsOf('a')[0]).toContain(`:${first.port}`);
      await pauseLevel([one, other], first, await replicaOf(fleet, first));
      await first.redis.kill();
      for (const party of [one, other]) party.resume();
      await primaryOf(fleet);
      await Promise.all([heard(one), heard(other)]);
      await first.redis.restart();
      const heir = await primaryOf(fleet);

      const { epoch } = other.recorder.subscriber;
      const replica = await replicaOf(fleet, heir);
      await pauseLevel([one, other], heir, replica);
      // First only the replica is cut off, so that the primary gets far enough ahead of it.
      const heals = [fleet.network.separate([heir.name], [replica.name, 'b'])];
      fleet.network.cut('b', heir.name);
      one.resume();
      await heard(one);
      // On one side of the cut are the primary and one process, on the other side everything else.
      heals.push(fleet.network.separate([heir.name, 'a'], [...namesBut(fleet, heir), 'b']));
      await until('both sides to have a primary', async () => (await fleet.primaries()).some((node) => node !== heir), 30_000);
      other.resume();
      await heard(other);
      // The side with fewer primaries accepts no more writes; what it accepted before is lost.
      await until('it to refuse', async () => (await heir.redis.command('SET', '{sluice}:x', '1')).startsWith('-CLUSTERDOWN'), 30_000);
      expect([one.recorder.lost, other.recorder.lost]).toEqual([[], []]);
      for (const heal of heals) heal();
      await Promise.all([one, other].map(({ recorder }) => recorder.until(() => recorder.lost.length > 0)));
      // Reported once for the previous log, and once more if what a publisher had stored there is lost.
      expect([one, other].map(({ recorder }) => [...new Set(recorder.lost.map(({ reason }) => reason))])).toEqual([['epoch'], ['epoch']]);
      expect(other.recorder.subscriber.epoch).not.toBe(epoch);
      await agree(one, other);
    },
  );
});

describe('a primary and two replicas', () => {
  it('are replaced by the promoted one when the primary hangs, and a split brain is reported', async () => {
    const fleet = await open(startReplicas);
    const [one, other] = [await join(fleet, 'a'), await join(fleet, 'b')];
    await heard(other);
    const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
    await pauseLevel([one, other], first, second);
    const heal = fleet.network.separate([first.name, 'a'], [second.name, third.name, 'b']);
    fleet.network.cut('b', first.name);
    await second.redis.command('REPLICAOF', 'NO', 'ONE');
    for (const party of [one, other]) party.resume();
    await heard(other);
    // Without `min-replicas-to-write` both sides continue; each is complete by itself.
    await heard(one);
    expect([one.recorder.faults, other.recorder.faults, one.recorder.lost, other.recorder.lost]).toEqual([[], [], [], []]);
    heal();
    await first.redis.command('REPLICAOF', '127.0.0.1', String(second.port));
    await third.redis.command('REPLICAOF', '127.0.0.1', String(second.port));
    await Promise.all([one, other].map(({ recorder }) => recorder.until(() => recorder.lost.length > 0)));
    // Reported once for the previous log, and once more if what a publisher had stored there is lost.
    expect([one, other].map(({ recorder }) => [...new Set(recorder.lost.map(({ reason }) => reason))])).toEqual([['epoch'], ['epoch']]);
    await Promise.all([heard(one), heard(other)]);
    await agree(one, other);
  });

  it('accept nothing on the smaller side of a split brain with min-replicas-to-write', async () => {
    const fleet = await startReplicas({ users: ['a', 'b'], args: ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '1'] });
    cleanups.push(() => fleet.close());
    const one = await join(fleet, 'a');
    await heard(one);
    const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
    const heal = fleet.network.separate([first.name, 'a'], [second.name, third.name]);
    await until('it to refuse', async () => (await first.redis.command('SET', 'x', '1')).startsWith('-NOREPLICAS'), 30_000);
    const { length } = one.recorder.entries;
    heal();
    // The waiting entries are stored then. Nothing was lost, because no other server took its place.
    await one.recorder.until(() => one.recorder.entries.length > length + 10);
    expect([one.recorder.lost, one.recorder.faults]).toEqual([[], []]);
    await one.pause();
  });

  it('reach subscribers of the former primary, which is cut off afterwards', async () => {
    const fleet = await open(startReplicas);
    const one = await join(fleet, 'a');
    await heard(one);
    const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
    await first.redis.command('FAILOVER', 'TO', '127.0.0.1', String(second.port));
    await until('the change of places', async () => (await fleet.primaries())[0] === second);
    // The former primary is now a replica, and gets announcements through the new primary until it is cut off.
    await heard(one);
    fleet.network.separate([first.name], [second.name, third.name]);
    await heard(one);
    await until('it to be cut off', async () => (await first.redis.command('PUBSUB', 'NUMSUB', '{sluice}:live')).includes(':0'), 30_000);
    await heard(one);
    expect([one.recorder.lost, one.recorder.faults]).toEqual([[], []]);
    await one.pause();
  });
});

describe('a connection', () => {
  /** From here on the test controls time; sockets continue by themselves. */
  const stopTime = (): unknown => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

  it('is not ended by the time limit of the previous one', async () => {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const connection = await RedisConnection.open([redis.url], 'test', silentLog);
    cleanups.push(() => connection.close());
    stopTime();
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    redis.pause();
    const unanswered = connection.text('PING').catch((error: unknown) => error);
    await redis.kill();
    expect(await unanswered).toBeInstanceOf(Error);
    await redis.restart();
    let ready = 0;
    connection.onReady(() => (ready += 1));
    // Less than the time limit passes, and Redis has seconds to answer in.
    for (let ms = 0; !connection.ready && ms < 4_000; ms += 10) {
      await vi.advanceTimersByTimeAsync(10);
      await realPause(20);
    }
    expect(ready).toBe(1);
    expect(await connection.text('PING')).toBe('PONG');
    await vi.advanceTimersByTimeAsync(10_000);
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect([ready, connection.ready]).toEqual([1, true]);
  });

  it('waits at most one and a half seconds for a server that hangs before it tries another', async () => {
    const hanging = createServer(() => undefined);
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => hanging.close());
    const { port } = hanging.address() as AddressInfo;
    stopTime();
    let failure: unknown = null;
    const asked = ask('redis://127.0.0.1', { host: '127.0.0.1', port }, (client) => client.info()).catch((error: unknown) => {
      failure = error;
    });
    await vi.advanceTimersByTimeAsync(1_499);
    await realPause(50);
    expect(failure).toBeNull();
    await vi.advanceTimersByTimeAsync(1);
    await asked;
    expect(failure).toBeInstanceOf(Error);
  });
});
