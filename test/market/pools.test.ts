import { LogConsumer } from '../../followers/src/kit/log-consumer.ts';
import { Pools } from '../../followers/src/pools/pools.ts';
import type { Bus, BusEntry } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createPoolDirectory } from '@sluice/shared/market/pools/create.ts';
import type { PoolDirectory } from '@sluice/shared/market/pools/pool-directory.ts';
import { poolNewsEntry } from '@sluice/shared/market/pools/pool-news.ts';
import { depthShare } from '@sluice/shared/market/pools/depth-share.ts';
import { usdcMint } from '@sluice/shared/solana/well-known.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { silentLog } from '../contract/bus-harness.ts';
import { until } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf, migrationEvent, newTokenEvent, tradeEvent } from '../support/events/stream-events.ts';

const closeWithinMs = 2_000;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface World {
  readonly bus: Bus;
  readonly redis: TestRedis | null;
  open(): Promise<PoolDirectory>;
}

async function world(kind: 'in process' | 'redis'): Promise<World> {
  const redis = kind === 'redis' ? await startRedis() : null;
  if (redis !== null) cleanups.push(() => redis.stop());
  const redisUrls = redis === null ? null : [redis.url];
  const bus = await createBus({ redisUrls, log: silentLog });
  cleanups.push(() => bus.close());
  const open = async (): Promise<PoolDirectory> => {
    const pools = await createPoolDirectory({ redisUrls, log: silentLog });
    cleanups.push(() => pools.close());
    return pools;
  };
  return { bus, redis, open };
}

function keep({ bus }: World, pools: PoolDirectory): LogConsumer<unknown> {
  const consumer = new LogConsumer(new Pools({ pools }), { bus, log: silentLog });
  cleanups.push(() => consumer.close(closeWithinMs));
  return consumer;
}

function publish(own: World, pools: PoolDirectory, ...events: readonly Parameters<typeof entryOf>[0][]): Promise<void> {
  return publishEntries(
    own,
    pools,
    events.map((event) => entryOf(event)),
  );
}

async function publishEntries({ bus }: World, pools: PoolDirectory, entries: readonly BusEntry[]): Promise<void> {
  const publisher = await bus.publisher();
  await publisher.publish(entries);
  await publisher.close();
  const end = (await bus.tail(1)).at(-1)!.offset;
  await until('the directory has them', async () => ((await pools.checkpoint())?.offset ?? 0) >= end);
}

const [created, traded, migrated] = [addressOf(1), addressOf(2), addressOf(3)];
const reserves = (quote: bigint) => ({ virtualBase: '1', virtualQuote: String(quote), realBase: '1', realQuote: String(quote) });
const depthOf = (quote: number): number => expect.closeTo(quote * depthShare, 9) as number;
const concentrated = { pool: 'orca-whirlpool', reserves: null, depth: '70000000' } as const;
const events = [
  newTokenEvent(created, { poolAddress: addressOf(11), reserves: reserves(0n) }),
  tradeEvent(traded, { pool: 'pump-amm', poolAddress: addressOf(12), slot: 20, reserves: reserves(4_000_000_000n) }),
  tradeEvent(traded, {
    pool: 'pump-amm',
    poolAddress: addressOf(13),
    slot: 21,
    quoteMint: usdcMint,
    reserves: reserves(900_000_000n),
    priceQuote: 1,
    priceSol: 0.01,
  }),
  tradeEvent(traded, { ...concentrated, poolAddress: addressOf(16), slot: 22 }),
  migrationEvent(migrated, { poolAddress: addressOf(14), quoteAmount: '84000000000' }),
];
const mints = [created, traded, migrated];
const expected = [
  [{ venue: 'pump', address: addressOf(11), depthSol: 0 }],
  [
    { venue: 'orca-whirlpool', address: addressOf(16), depthSol: 0.07, slot: 22 },
    { venue: 'pump-amm', address: addressOf(13), quoteMint: usdcMint, depthSol: depthOf(9), slot: 21 },
    { venue: 'pump-amm', address: addressOf(12), depthSol: depthOf(4), slot: 20 },
  ],
  [{ venue: 'pump-amm', address: addressOf(14), depthSol: depthOf(84) }],
];
const all = (pools: PoolDirectory) => Promise.all(mints.map((mint) => pools.poolsOf(mint)));

describe.each(['in process', 'redis'] as const)('the follower that keeps the directory of pools, %s', (kind) => {
  it('records the pools that creations, trades and migrations show', async () => {
    const own = await world(kind);
    const pools = await own.open();
    keep(own, pools);
    await publish(own, pools, ...events);
    expect(await all(pools)).toMatchObject(expected);
  });

  it('records a pool that was opened and had no trade, and no entry that ingest did not write', async () => {
    const own = await world(kind);
    const pools = await own.open();
    keep(own, pools);
    const mint = addressOf(4);
    const opened = { mint, venue: 'orca-whirlpool', address: addressOf(17), quoteMint: usdcMint, depthSol: 0, slot: 23 } as const;
    const entry = poolNewsEntry(opened);
    const written = (text: string) => ({ ...entry, json: Buffer.from(text) });
    const forged = ['', '{', 'null', '[]', '{"mint":5}', JSON.stringify({ ...opened, venue: 'x' })].map(written);
    await publishEntries(own, pools, [...forged, entry]);
    const { mint: _, ...stored } = opened;
    await until('it is recorded', async () => (await pools.poolsOf(mint)).length > 0);
    expect(await pools.poolsOf(mint)).toEqual([stored]);
    // Its first trade shows its depth.
    await publish(own, pools, tradeEvent(mint, { ...concentrated, poolAddress: addressOf(17), slot: 24 }));
    expect(await pools.poolsOf(mint)).toMatchObject([{ address: addressOf(17), depthSol: 0.07, slot: 24 }]);
  });

  it('fills an emptied directory from the log when it starts again', async () => {
    const own = await world(kind);
    const pools = await own.open();
    const first = keep(own, pools);
    await publish(own, pools, ...events);
    const before = await all(pools);
    await first.close(closeWithinMs);
    const keys = ['checkpoint', 'mints', 'sightings', ...mints.map((mint) => `of:${mint}`)].map((key) => `{sluice}:pools:${key}`);
    await own.redis?.command('DEL', ...keys);
    // A directory in process is empty when it is new.
    const emptied = await own.open();
    expect(await all(emptied)).toEqual([[], [], []]);
    keep(own, emptied);
    await until('it has read the log', async () => (await emptied.checkpoint()) !== null);
    expect(await all(emptied)).toEqual(before);
  });

  it('writes a pool again only if its depth changes much', async () => {
    const own = await world(kind);
    const pools = await own.open();
    keep(own, pools);
    const at = (slot: number, realQuote: bigint) => tradeEvent(traded, { poolAddress: addressOf(15), slot, reserves: reserves(realQuote) });
    await publish(own, pools, at(30, 10_000_000_000n));
    await publish(own, pools, at(31, 11_000_000_000n));
    expect(await pools.poolsOf(traded)).toMatchObject([{ depthSol: depthOf(10), slot: 30 }]);
    await publish(own, pools, at(32, 13_000_000_000n));
    expect(await pools.poolsOf(traded)).toMatchObject([{ depthSol: depthOf(13), slot: 32 }]);
  });
});
