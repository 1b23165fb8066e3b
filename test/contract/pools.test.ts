import { createBus } from '@sluice/shared/bus/create.ts';
import type { Lease } from '@sluice/shared/bus/bus.ts';
import { createPoolDirectory } from '@sluice/shared/market/pools/create.ts';
import {
  poolBounds,
  type KnownPool,
  type PoolBounds,
  type PoolDirectory,
  type PoolSighting,
} from '@sluice/shared/market/pools/pool-directory.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { addressOf } from '../support/events/stream-events.ts';
import { silentLog } from './bus-harness.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface World {
  readonly directory: PoolDirectory;
  readonly lease: Lease;
  readonly redis: TestRedis | null;
}

async function open(kind: 'redis' | 'in process', bounds: PoolBounds = poolBounds): Promise<World> {
  const redis = kind === 'redis' ? await startRedis() : null;
  if (redis !== null) cleanups.push(() => redis.stop());
  const redisUrls = redis === null ? null : [redis.url];
  const bus = await createBus({ redisUrls, log: silentLog });
  cleanups.push(() => bus.close());
  const directory = await createPoolDirectory({ redisUrls, bounds, log: silentLog });
  cleanups.push(() => directory.close());
  const lease = bus.lease('pools');
  cleanups.push(() => lease.close());
  await until('the lease is held', () => lease.held);
  return { directory, lease, redis };
}

const mint = addressOf(1);
const to = { epoch: 'e', offset: 7 };
const pool = (number: number, depthSol: number, changes: Partial<PoolSighting> = {}): PoolSighting => ({
  mint,
  venue: 'pump-amm',
  address: addressOf(1_000 + number),
  quoteMint: wrappedSolMint,
  depthSol,
  slot: 10,
  ...changes,
});
const known = ({ venue, address, quoteMint, depthSol, slot }: PoolSighting): KnownPool => ({ venue, address, quoteMint, depthSol, slot });

describe.each(['in process', 'redis'] as const)('the directory of pools, %s', (kind) => {
  it('lists the pools of a mint, deepest first, and none for other mints', async () => {
    const { directory, lease } = await open(kind);
    const leaseTerm = { lease, fence: lease.fence };
    const [shallow, deep, twin] = [pool(1, 2), pool(2, 30, { venue: 'pump', quoteMint: usdcMint }), pool(3, 2)];
    expect(await directory.note([shallow, deep, twin, pool(4, 9, { mint: addressOf(2) })], to, leaseTerm)).toBe('applied');
    const twins = [shallow, twin].toSorted((a, b) => (a.address < b.address ? -1 : 1));
    expect(await directory.poolsOf(mint)).toEqual([deep, ...twins].map(known));
    expect(await directory.poolsOf(addressOf(3))).toEqual([]);
  });

  it('updates a pool from a slot that is not older', async () => {
    const { directory, lease } = await open(kind);
    const leaseTerm = { lease, fence: lease.fence };
    await directory.note([pool(1, 5, { slot: 20 }), pool(1, 1, { slot: 19 })], to, leaseTerm);
    expect(await directory.poolsOf(mint)).toMatchObject([{ depthSol: 5, slot: 20 }]);
    await directory.note([pool(1, 7, { slot: 20 })], to, leaseTerm);
    expect(await directory.poolsOf(mint)).toMatchObject([{ depthSol: 7, slot: 20 }]);
  });

  it('drops the shallowest pool of a mint that has too many', async () => {
    const { directory, lease } = await open(kind, { poolsPerMint: 2, mints: 10 });
    const leaseTerm = { lease, fence: lease.fence };
    await directory.note([pool(1, 5), pool(2, 9), pool(3, 7)], to, leaseTerm);
    expect((await directory.poolsOf(mint)).map(({ depthSol }) => depthSol)).toEqual([9, 7]);
    await directory.note([pool(4, 1)], to, leaseTerm);
    expect((await directory.poolsOf(mint)).map(({ depthSol }) => depthSol)).toEqual([9, 7]);
  });

  it('drops the mint whose last sighting is the oldest when there are too many', async () => {
    const { directory, lease } = await open(kind, { poolsPerMint: 4, mints: 2 });
    const leaseTerm = { lease, fence: lease.fence };
    const of = (number: number): PoolSighting => pool(number, 1, { mint: addressOf(number) });
    await directory.note([of(1), of(2), of(1), of(3)], to, leaseTerm);
    const counts = await Promise.all([1, 2, 3].map(async (number) => (await directory.poolsOf(addressOf(number))).length));
    expect(counts).toEqual([1, 0, 1]);
  });

  it('refuses writes of a term that is over', async () => {
    const { directory, lease } = await open(kind);
    const over = { lease, fence: lease.fence };
    lease.relinquish(lease.fence);
    await until('the lease is held again', () => lease.held && lease.fence !== over.fence);
    expect(await directory.note([pool(1, 1)], to, over)).toBe('fenced');
    expect(await directory.poolsOf(mint)).toEqual([]);
    expect(await directory.checkpoint()).toBe(null);
  });

  it('stores how far it is, and accepts many sightings at once', async () => {
    const { directory, lease } = await open(kind);
    const leaseTerm = { lease, fence: lease.fence };
    expect(await directory.checkpoint()).toBe(null);
    const many = Array.from({ length: 450 }, (_, index) => pool(index, 1, { mint: addressOf(index + 1) }));
    await directory.note(many, to, leaseTerm);
    expect(await directory.checkpoint()).toEqual(to);
    expect(await directory.poolsOf(addressOf(450))).toEqual([known(many[449]!)]);
    const next = { ...to, offset: 8 };
    await directory.note([], next, leaseTerm);
    expect(await directory.checkpoint()).toEqual(next);
  });
});

it('ignores what the follower did not write to Redis', async () => {
  const { directory, lease, redis } = await open('redis');
  await directory.note([pool(1, 1)], to, { lease, fence: lease.fence });
  const forms = ['', '1', 'null', '{"venue":"nobody"}', JSON.stringify({ ...known(pool(2, 1)), address: 1 }), 'x'.repeat(4_000)];
  for (const [index, form] of forms.entries()) await redis!.command('HSET', `{sluice}:pools:of:${mint}`, `forged${index}`, form);
  expect(await directory.poolsOf(mint)).toEqual([known(pool(1, 1))]);
});
