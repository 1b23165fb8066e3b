import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bus, BusEntry } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { baseOf, composeBuckets } from '@sluice/shared/market/candles/compose-candles.ts';
import { candleIntervals, marketLimits, type CandleInterval, type MarketStore } from '@sluice/shared/market/market.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { poolNewsEntry } from '@sluice/shared/market/pools/pool-news.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { accountTradesTopic, allTradesTopic, candlesTopic, tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { consumeMarket, type MarketConsumer } from '../support/product/market-consumer.ts';
import { candlesOf } from '../market/brute-force.ts';
import { chainSteps, RandomChain } from '../market/random-chain.ts';
import { someS, tradeOf } from '../market/trades.ts';
import { until } from '../support/gateway.ts';
import { formCluster } from '../support/servers/redis-cluster.ts';
import { startRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf, migrationEvent, priceEvent } from '../support/events/stream-events.ts';
import { silentLog } from './bus-harness.ts';
import { startProxy } from './bus-proxy.ts';
import { record } from './bus-recorder.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Process {
  readonly bus: Bus;
  readonly market: MarketStore;
}

let nextMint = 2_000_000;
const freshMint = (): string => addressOf(nextMint++);
const allTime = [0, 0xffff_ffff, 100_000] as const;

async function connect(redisUrl: string | null): Promise<Process> {
  const redisUrls = redisUrl === null ? null : [redisUrl];
  const bus = await createBus({ redisUrls, log: silentLog });
  cleanups.push(() => bus.close());
  const market = await createMarket({ redisUrls, log: silentLog });
  cleanups.push(() => market.close());
  return { bus, market };
}

function keep({ bus, market }: Process): MarketConsumer {
  const keeper = consumeMarket({ bus, market, log: silentLog });
  cleanups.push(() => keeper.close(1_000));
  return keeper;
}

/** Publishes events in batches; resolves when the state has them. */
async function publish({ bus, market }: Process, events: readonly Parameters<typeof entryOf>[0][], perBatch = 7): Promise<void> {
  await publishEntries(
    { bus, market },
    events.map((event) => entryOf(event)),
    perBatch,
  );
}

async function publishEntries({ bus, market }: Process, entries: readonly BusEntry[], perBatch = 7): Promise<void> {
  const publisher = await bus.publisher();
  for (let from = 0; from < entries.length; from += perBatch) await publisher.publish(entries.slice(from, from + perBatch));
  await publisher.close();
  const end = (await bus.tail(1)).at(-1)!.offset;
  await until('the state to have them', async () => ((await market.checkpoint())?.offset ?? 0) >= end);
}

const retraction = (id: string, topics: string[]): BusEntry => entryOf({ type: 'retract', id }, topics);
const isRetractionOf = (json: Uint8Array, id: string): boolean => Buffer.from(json).includes(`"type":"retract","id":"${id}`);
const idOf = (json: Uint8Array): string => (JSON.parse(Buffer.from(json).toString()) as { readonly id: string }).id;

async function candles(market: MarketStore, mint: string, interval: CandleInterval) {
  return composeBuckets(await market.buckets(mint, baseOf(interval), ...allTime), interval);
}

async function expectCandles(market: MarketStore, mint: string, trades: readonly TradeEvent[]): Promise<void> {
  for (const [interval, seconds] of Object.entries(candleIntervals) as [CandleInterval, number][]) {
    // Composed candles open and close by time, base buckets by the log.
    if (baseOf(interval) !== interval) continue;
    expect(await candles(market, mint, interval), interval).toEqual(candlesOf(trades, seconds));
  }
}

describe.each(['in process', 'in Redis'] as const)('the state of the market %s', (where) => {
  let first: Process;
  let redisUrl: string | null = null;
  beforeEach(async () => {
    if (where === 'in Redis') {
      const redis = await startRedis();
      cleanups.push(() => redis.stop());
      redisUrl = redis.url;
    }
    first = await connect(redisUrl);
  });
  /** Another process on the same state. */
  const another = async (): Promise<Process> => (redisUrl === null ? first : connect(redisUrl));

  it('is empty at first', async () => {
    const { market } = first;
    const mint = freshMint();
    expect(await market.buckets(mint, '1m', ...allTime)).toEqual([]);
    expect(await market.summary(mint, someS)).toEqual({ checkpoint: null, minutes: [], price: null });
    expect(await market.trades(mint, null, 10)).toEqual([]);
    expect(await market.checkpoint()).toBeNull();
  });

  it('equals the list of trades, also with late trades and trades without a price', async () => {
    keep(first);
    const shape = fc.record({
      mint: fc.integer({ min: 0, max: 2 }),
      afterS: fc.integer({ min: -90, max: 5_000 }),
      tokens: fc.integer({ min: 1, max: 4096 }),
      price: fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: 1, max: 64 }).map((n) => n / 64) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
      solUsd: fc.option(fc.constantFrom(128, 256), { freq: 4 }),
      side: fc.constantFrom('buy' as const, 'sell' as const),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(shape, { minLength: 1, maxLength: 120 }), fc.integer({ min: 1, max: 40 }), async (shapes, perBatch) => {
        const mints = [freshMint(), freshMint(), freshMint()];
        let atS = someS;
        const trades = shapes.map(({ mint, afterS, ...values }, index) => {
          atS += Math.max(0, afterS % 100);
          return { ...tradeOf({ mint: mints[mint]!, atS: afterS < 0 ? atS + afterS : atS, ...values }), slot: 1_000 + index };
        });
        await publish(first, trades, perBatch);
        for (const mint of mints)
          await expectCandles(
            first.market,
            mint,
            trades.filter((trade) => trade.mint === mint),
          );
      }),
      { numRuns: 8 },
    );
  });

  it('composes longer candles from the base ones', async () => {
    keep(first);
    const mint = freshMint();
    const trades = Array.from({ length: 300 }, (_, i) => tradeOf({ mint, atS: someS + i * 37, price: ((i * 7) % 64) / 64 + 1 / 64 }));
    await publish(first, trades, 50);
    for (const [interval, seconds] of Object.entries(candleIntervals) as [CandleInterval, number][]) {
      expect(await candles(first.market, mint, interval), interval).toEqual(
        // Seconds are stored for an hour, minutes for two days: all those of the newest chunks are here.
        candlesOf(baseOf(interval) === '1s' ? await storedOf(first.market, mint, trades) : trades, seconds),
      );
    }
  });

  it('has in the end what survives in the order of the chain, while keepers come and go', async () => {
    await fc.assert(
      fc.asyncProperty(chainSteps, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), async (steps, cuts) => {
        const mint = freshMint();
        const chain = new RandomChain(mint, steps);
        for (let at = 0, cut = 0; at < chain.entries.length; cut++) {
          const count = cuts[cut % cuts.length]!;
          const keeper = consumeMarket({ ...first, log: silentLog });
          await publishEntries(first, chain.entries.slice(at, at + count));
          await keeper.close(1_000);
          at += count;
        }
        await expectCandles(first.market, mint, chain.inChainOrder);
        const recent = (await first.market.trades(mint, null, marketLimits.tradesPerMint)).map((json) => idOf(json));
        const newest = chain.inLogOrder.toReversed().slice(0, marketLimits.tradesPerMint);
        expect(recent).toEqual(newest.map(({ id }) => id));
        const { price } = await first.market.summary(mint, someS);
        expect(price === null ? null : idOf(price)).toBe(recent.length === 0 ? null : (chain.newestPrice?.id ?? null));
      }),
      { numRuns: 8 },
    );
  });

  it('publishes a candle again whose trades are retracted, and retracts one that has no trades left', async () => {
    keep(first);
    const mint = freshMint();
    const topic = candlesTopic(mint, '1m');
    const recorder = await record(await first.bus.subscriber());
    cleanups.push(() => recorder.subscriber.close());
    const publishedCandles = (): unknown[] =>
      recorder.entries
        .filter(({ topics }) => topics[0]?.topic === topic)
        .map(({ json }) => JSON.parse(Buffer.from(json).toString()) as Record<string, unknown>)
        .map(({ type, id, trades, close }) => (type === 'retract' ? { retract: id } : { id, trades, close }));
    await first.market.reportDemand([topic]);
    const minuteS = someS - (someS % 60);
    const at = (slot: number, price: number) => ({ ...tradeOf({ mint, atS: someS, price }), slot });
    const [one, two] = [at(10, 0.5), at(11, 0.25)];
    const taken = ({ id, trader }: TradeEvent) => retraction(id, [allTradesTopic, tradesTopic(mint), accountTradesTopic(trader)]);
    await publish(first, [one, two]);
    await until('the candle of both trades', () => publishedCandles().length === 1);
    await publishEntries(first, [taken(two)]);
    await until('the candle of the remaining trade', () => publishedCandles().length === 2);
    await publishEntries(first, [taken(one)]);
    await until('the candle to be retracted', () => publishedCandles().length === 3);
    await publish(first, [{ ...one, slot: 12 }]);
    await until('the candle of the trade that landed again', () => publishedCandles().length === 4);
    const id = `${mint}:1m:${minuteS}`;
    expect(publishedCandles()).toEqual([
      { id: `${id}:2`, trades: 2, close: 0.25 },
      { id: `${id}:1:r1`, trades: 1, close: 0.5 },
      { retract: `${id}:1:r1` },
      { id: `${id}:1:r2`, trades: 1, close: 0.5 },
    ]);
  });

  it('returns a range of buckets, and the newest of them', async () => {
    keep(first);
    const mint = freshMint();
    const startS = someS - (someS % 600);
    await publish(
      first,
      Array.from({ length: 20 }, (_, i) => tradeOf({ mint, atS: startS + i * 60 })),
    );
    const { market } = first;
    const starts = async (fromS: number, toS: number, limit: number): Promise<number[]> =>
      (await market.buckets(mint, '1m', fromS, toS, limit)).map((bucket) => (bucket.startS - startS) / 60);
    expect(await starts(startS + 60, startS + 240, 100)).toEqual([1, 2, 3]);
    expect(await starts(startS + 61, startS + 241, 100)).toEqual([2, 3, 4]);
    expect(await starts(0, 0xffff_ffff, 3)).toEqual([17, 18, 19]);
    expect(await starts(startS, startS + 600, 0)).toEqual([]);
    expect(await starts(startS + 600, startS, 10)).toEqual([]);
    expect(await starts(0, startS, 10)).toEqual([]);
  });

  it('returns as many buckets as requested, also if buckets without a price lie between them', async () => {
    keep(first);
    const mint = freshMint();
    const startS = someS - (someS % 600);
    const settled = (slot: number, atS: number, price: number | null) =>
      ({ ...tradeOf({ mint, atS, price }), slot, commitment: 'confirmed', late: true }) as const;
    await publish(first, [...[0, 1, 2].map((n) => settled(10 + n, startS + n, 0.5)), settled(100, startS + 3_600, 0.5)]);
    // They come too late to have the price of the trade before them, and show none.
    await publish(
      first,
      Array.from({ length: 20 }, (_, n) => settled(50, startS + 1_200 + n, null)),
    );
    const starts = async (toS: number, limit: number): Promise<number[]> =>
      (await first.market.buckets(mint, '1s', 0, toS, limit)).map((bucket) => bucket.startS - startS);
    expect(await starts(startS + 4_000, 3)).toEqual([1, 2, 3_600]);
    expect(await starts(startS + 3_600, 1)).toEqual([2]);
    expect(await starts(startS + 3_600, 10)).toEqual([0, 1, 2]);
  });

  it('stores the newest trades, and returns a page at a time', async () => {
    keep(first);
    const mint = freshMint();
    const trades = Array.from({ length: 250 }, (_, i) => tradeOf({ mint, atS: someS + i }));
    await publish(first, trades, 90);
    const ids = async (before: string | null, limit: number): Promise<string[]> =>
      (await first.market.trades(mint, before, limit)).map((json) => (JSON.parse(Buffer.from(json).toString()) as { id: string }).id);
    const newestFirst = trades.map(({ id }) => id).toReversed();
    expect(await ids(null, 3)).toEqual(newestFirst.slice(0, 3));
    expect(await ids(newestFirst[2]!, 4)).toEqual(newestFirst.slice(3, 7));
    expect(await ids(null, 1_000)).toEqual(newestFirst.slice(0, marketLimits.tradesPerMint));
    expect(await ids(newestFirst[marketLimits.tradesPerMint - 1]!, 10)).toEqual([]);
    expect(await ids('no such id', 10)).toEqual([]);
  });

  it('returns a summary: the minutes of a day, the newest price of the main pool, and the position of the state', async () => {
    keep(first);
    const mint = freshMint();
    const atS = someS + 200_000;
    const prices = [1, 2].map((n) => ({ ...priceEvent(mint), poolAddress: addressOf(910_000), priceQuote: n }));
    await publish(first, [
      tradeOf({ mint, atS: atS - 90_000 }),
      tradeOf({ mint, atS: atS - 80_000 }),
      tradeOf({ mint, atS }),
      ...prices,
      { ...priceEvent(mint), poolAddress: addressOf(920_001), priceQuote: 99 },
    ]);
    const { checkpoint, minutes, price } = await first.market.summary(mint, atS);
    expect(checkpoint).toEqual(await first.market.checkpoint());
    expect(minutes.map(({ startS }) => startS)).toEqual([atS - 80_000, atS].map((at) => at - (at % 60)));
    expect(JSON.parse(Buffer.from(price!).toString())).toEqual(prices[1]);
  });

  it('uses prices from the main pool only, and amounts from all pools', async () => {
    keep(first);
    const mint = freshMint();
    const migration = {
      ...migrationEvent(mint),
      slot: 380_146_926,
      poolAddress: addressOf(920_000),
      quoteAmount: '84000000000',
      blockTime: someS + 30,
      priceQuote: 0.5,
    };
    await publish(first, [
      tradeOf({ mint, atS: someS, price: 0.5 }),
      tradeOf({ mint, atS: someS, before: 50, price: 60, pool: 'pump-amm', poolAddress: addressOf(920_009), depthSol: 9 }),
      { ...tradeOf({ mint, atS: someS, price: 0.25 }), slot: 380_146_924 },
      migration,
      tradeOf({ mint, atS: someS + 31, before: 0.5625, price: 0.75, pool: 'pump-amm', depthSol: 84 }),
      tradeOf({ mint, atS: someS + 31, price: 0.0625, pool: 'pump-amm', poolAddress: addressOf(920_009), depthSol: 85 }),
    ]);
    const [before, after] = await first.market.buckets(mint, '1s', ...allTime);
    expect(before).toMatchObject({ open: 0.5, high: 0.5, low: 0.25, close: 0.25, buys: 3, volumeBase: 12 });
    expect(after).toMatchObject({ open: 0.5625, high: 0.75, low: 0.5625, close: 0.75, buys: 2, volumeBase: 8 });
  });

  it('removes the prices of a pool of a few coins that came first, and publishes its candles again', async () => {
    keep(first);
    const mint = freshMint();
    const recorder = await record(await first.bus.subscriber());
    cleanups.push(() => recorder.subscriber.close());
    const [seconds, minutes] = [candlesTopic(mint, '1s'), candlesTopic(mint, '1m')];
    const last = (topic: string): Record<string, unknown> | undefined =>
      recorder.entries
        .filter(({ topics }) => topics[0]?.topic === topic)
        .map(({ json }) => JSON.parse(Buffer.from(json).toString()) as Record<string, unknown>)
        .at(-1);
    await first.market.reportDemand([seconds, minutes]);
    const minuteS = someS - (someS % 60);
    const fake = { mint, pool: 'pump-amm', poolAddress: addressOf(920_009), price: 166_666, tokens: 0.000_005, depthSol: 0.01 } as const;
    const real = { mint, pool: 'pump-amm', price: 0.5, depthSol: 85 } as const;
    const settled = (slot: number): BusEntry => verdictEntry({ alive: [slot], dead: [] });
    await publishEntries(first, [entryOf({ ...tradeOf({ ...fake, atS: minuteS + 1 }), slot: 10 }), settled(10)]);
    await until('the candle of the first pool', () => last(minutes)?.['close'] === 166_666);
    await until('its second', () => last(seconds)?.['close'] === 166_666);
    const prices = { open: 0.5, high: 0.5, low: 0.5, close: 0.5 };
    // The second pool must be deeper for some seconds. Once before its slot is decided, and once after that.
    await publish(first, [{ ...tradeOf({ ...real, atS: minuteS + 3 }), slot: 11 }]);
    expect((await candles(first.market, mint, '1m'))[0]).toMatchObject({ close: 166_666, buys: 2 });
    await publish(first, [{ ...tradeOf({ ...real, atS: minuteS + 13 }), slot: 12 }]);
    expect(await candles(first.market, mint, '1s')).toMatchObject([{ startS: minuteS + 13, ...prices }]);
    expect(await candles(first.market, mint, '1m')).toMatchObject([{ startS: minuteS, ...prices, buys: 3 }]);
    await publishEntries(first, [settled(11), settled(12)]);
    await until('the second of the first pool to be retracted', () =>
      recorder.entries.some(({ json }) => isRetractionOf(json, `${mint}:1s:`)),
    );
    await until('the corrected minute', () => last(minutes)?.['high'] === 0.5);
    expect(last(minutes)).toMatchObject({ ...prices, trades: 3, poolAddress: addressOf(920_000) });
    expect(await candles(first.market, mint, '1s')).toMatchObject([{ startS: minuteS + 13, ...prices }]);
    expect(await candles(first.market, mint, '1h')).toMatchObject([{ ...prices, buys: 3 }]);
    // The first pool trades on, and decides nothing.
    await publish(first, [{ ...tradeOf({ ...fake, atS: minuteS + 14 }), slot: 13 }]);
    expect(await candles(first.market, mint, '1m')).toMatchObject([{ ...prices, buys: 4 }]);
  });

  it('begins with the main pool that was read from the chain, whichever pool trades first', async () => {
    keep(first);
    const mint = freshMint();
    const read = { mint, venue: 'pump-amm', address: addressOf(920_000), quoteMint: wrappedSolMint, depthSol: 0.4, slot: 10 } as const;
    const main = { atS: someS, priceQuote: 0.5, priceUsd: 64, curveOver: true, simulated: false };
    const fake = { mint, pool: 'pump-amm', poolAddress: addressOf(920_009), price: 166_666, tokens: 0.000_005, depthSol: 0.3 } as const;
    await publishEntries(first, [poolNewsEntry({ ...read, main }), entryOf({ ...tradeOf({ ...fake, atS: someS }), slot: 10 })]);
    expect(await candles(first.market, mint, '1s')).toMatchObject([{ open: 0.5, high: 0.5, low: 0.5, close: 0.5, closeUsd: 64, buys: 1 }]);
  });

  it('refuses a batch that does not follow the previous one, or comes from an earlier term', async () => {
    const { bus, market } = first;
    const lease = bus.lease('market');
    await until('the lease', () => lease.held);
    const leaseTerm = { lease, fence: lease.fence };
    const at = (offset: number) => ({ epoch: 'e', offset });
    expect(await market.apply({ from: null, to: at(3), changes: [] }, leaseTerm)).toBe('applied');
    expect(await market.apply({ from: null, to: at(3), changes: [] }, leaseTerm)).toBe('applied');
    expect(await market.apply({ from: null, to: at(4), changes: [] }, leaseTerm)).toBe('stale');
    expect(await market.apply({ from: at(3), to: at(4), changes: [] }, { lease, fence: lease.fence - 1 })).toBe('fenced');
    await lease.close();
    expect(await market.apply({ from: at(3), to: at(4), changes: [] }, leaseTerm)).toBe('fenced');
    expect(await market.checkpoint()).toEqual(at(3));
  });

  it('counts every trade once while keepers come and go', async () => {
    const mint = freshMint();
    const trades = Array.from({ length: 1_500 }, (_, i) => tradeOf({ mint, atS: someS + Math.floor(i / 10), price: ((i % 64) + 1) / 64 }));
    const all = publish(first, trades, 3);
    for (let turn = 0; turn < 4; turn++) {
      const process = await another();
      const keeper = consumeMarket({ ...process, log: silentLog });
      const standby = consumeMarket({ ...(await another()), log: silentLog });
      await until('one to start', () => keeper.stats.events + standby.stats.events > 0);
      await Promise.all(turn % 2 === 0 ? [keeper.close(1_000), standby.close(1_000)] : [standby.close(1_000), keeper.close(1_000)]);
    }
    keep(await another());
    await all;
    await expectCandles(first.market, mint, trades);
  });

  it('publishes topics that are in demand, up to a bound', async () => {
    const { bus, market } = first;
    const lease = bus.lease('market');
    await until('the lease', () => lease.held);
    const leaseTerm = { lease, fence: lease.fence };
    const topic = candlesTopic(freshMint(), '1m');
    expect(await market.reportDemand([topic])).toEqual([]);
    expect(await market.reportDemand([topic])).toEqual([]);
    expect(await market.turns()).toEqual({ begin: [topic], end: [] });
    expect(await market.note(new Map([[topic, 60]]), [], { lease, fence: lease.fence - 1 })).toBe('fenced');
    expect(await market.note(new Map([[topic, 60]]), [], leaseTerm)).toBe('applied');
    expect(await market.turns()).toEqual({ begin: [], end: [] });
    expect(await market.published()).toEqual(new Map([[topic, 60]]));
    // Requested again while it ends: it begins again.
    expect(await market.note(new Map(), [topic], leaseTerm)).toBe('applied');
    expect(await market.turns()).toEqual({ begin: [topic], end: [] });
    const many = Array.from({ length: marketLimits.candleTopics }, (_, i) => `candles:${i}:1m`);
    expect(await market.reportDemand(many)).toEqual(many.slice(-1));
    expect(await market.reportDemand([topic, many[0]!])).toEqual([]);
  });
});

/** The trades whose seconds are still stored. */
async function storedOf(market: MarketStore, mint: string, trades: readonly TradeEvent[]): Promise<TradeEvent[]> {
  const starts = new Set((await market.buckets(mint, '1s', ...allTime)).map(({ startS }) => startS));
  return trades.filter(({ blockTime }) => starts.has(blockTime!));
}

describe('the keeper of a market in Redis', () => {
  it('runs on a cluster', async () => {
    const nodes = await Promise.all([1, 2, 3].map(() => startRedis({ cluster: true })));
    cleanups.push(() => Promise.all(nodes.map((node) => node.stop())));
    await formCluster(nodes);
    const redisUrls = nodes.map(({ url }) => url);
    const bus = await createBus({ redisUrls, log: silentLog });
    cleanups.push(() => bus.close());
    const market = await createMarket({ redisUrls, log: silentLog });
    cleanups.push(() => market.close());
    const keeper = keep({ bus, market });
    const mint = freshMint();
    const topic = candlesTopic(mint, '1m');
    const trades = Array.from({ length: 50 }, (_, i) => tradeOf({ mint, atS: someS + i }));
    expect(await market.reportDemand([topic])).toEqual([]);
    await publish({ bus, market }, trades);
    await until('its candles', () => keeper.stats.candles > 0);
    await expectCandles(market, mint, trades);
    expect([...(await market.published()).keys()]).toEqual([topic]);
    expect(await market.trades(mint, null, 100)).toHaveLength(50);
    expect((await market.summary(mint, someS)).checkpoint).not.toBeNull();
  });

  it('counts every trade once if its link is cut at any byte', async () => {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const direct = await connect(redis.url);
    let pieces = 0;
    const proxy = await startProxy(redis.port, async () => {
      pieces++;
      if (pieces % 61 === 0) proxy.cut();
    });
    cleanups.push(() => proxy.close());
    const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => bus.close());
    const market = await createMarket({ redisUrls: [proxy.url], log: silentLog });
    cleanups.push(() => market.close());
    const keeper = keep({ bus, market });
    const mint = freshMint();
    const trades = Array.from({ length: 3_000 }, (_, i) => tradeOf({ mint, atS: someS + Math.floor(i / 20), price: ((i % 64) + 1) / 64 }));
    for (let from = 0; from < trades.length; from += 100) {
      await publish(direct, trades.slice(from, from + 100), 20);
    }
    expect(keeper.stats.failures).toBeGreaterThan(0);
    await expectCandles(direct.market, mint, trades);
  });
});
