import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { MintHead } from '@sluice/shared/market/pools/main-pool.ts';
import { baseIntervals, marketLimits, type BaseInterval } from '@sluice/shared/market/market.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { addressOf, entryOf, migrationEvent } from '../support/events/stream-events.ts';
import { candlesOf } from './brute-force.ts';
import { StoredMarket } from './stored-market.ts';
import { chainSteps, RandomChain } from './random-chain.ts';
import { someS, tradeOf, type TradeShape } from './trades.ts';

const mint = addressOf(1);
const pool = addressOf(920_000);
const allTime = [0, 0xffff_ffff, 100_000] as const;

const migration = migrationEvent(mint, { pool: 'pump-amm', poolAddress: pool, blockTime: someS + 1, priceQuote: 0.5 });
const completion = tradeOf({ mint, atS: someS, price: 0.5, depthSol: 85, completes: true });
/** A buyer's first trade before it moves the price by far less than a tenth of the curve's depth. */
const first = tradeOf({ mint, atS: someS + 2, price: 0.25, pool: 'pump-amm', poolAddress: pool, depthSol: 86 });

/** A new keeper for each batch. */
async function takeAll(batches: readonly (readonly BusEntry[])[]): Promise<StoredMarket> {
  const stored = new StoredMarket();
  for (const batch of batches) {
    await stored.take(batch);
    stored.restart();
  }
  return stored;
}

async function stateOf(stored: StoredMarket): Promise<{ readonly head: MintHead | null; readonly close: number | undefined }> {
  return { head: await stored.headOf(mint), close: (await stored.market.buckets(mint, '1s', ...allTime)).at(-1)?.close };
}

const parsed = (json: Uint8Array): unknown => JSON.parse(Buffer.from(json).toString());

describe('the changes of a mint', () => {
  it('do not depend on the division into batches, even with a single migration', async () => {
    const entries = [completion, migration, first].map((event) => entryOf(event));
    const cuts = [[entries], [entries.slice(0, 2), entries.slice(2)], [entries.slice(0, 1), entries.slice(1)], entries.map((one) => [one])];
    for (const batches of cuts) {
      expect(await stateOf(await takeAll(batches))).toMatchObject({ head: { poolAddress: pool, curveOver: true }, close: 0.25 });
    }
  });

  it('follow a token to its pool although nobody saw the migration', async () => {
    const lasting = tradeOf({ mint, atS: someS + 12, price: 0.25, pool: 'pump-amm', poolAddress: pool, depthSol: 86 });
    expect(await stateOf(await takeAll([[entryOf(completion)], [entryOf(first)]]))).toMatchObject({ head: { pool: 'pump' } });
    const stored = await takeAll([[entryOf(completion)], [entryOf(first), entryOf(lasting)]]);
    expect(await stateOf(stored)).toMatchObject({ head: { poolAddress: pool }, close: 0.25 });
  });

  it('open a candle at the price before its first trade, so that candles join and a single buy has a body', async () => {
    const before = (atS: number, from: number | null, price: number, more: Partial<TradeShape> = {}): BusEntry =>
      entryOf(tradeOf({ mint, atS, before: from, price, ...more }));
    const stored = await takeAll([
      // The two trades of one slot count together.
      [before(someS, 0.25, 0.5), before(someS + 3, 0.5, 0.375), before(someS + 3, 0.375, 0.4375)],
      // The price before this one is not shown, so that of the pool is used.
      [before(someS + 5, null, 0.5625), before(someS + 7, 0.5625, 0.5, { solUsd: 256 })],
      // A trade in another pool adds the current price.
      [before(someS + 8, 8, 9, { pool: 'pump-amm', poolAddress: addressOf(920_007), depthSol: 1 })],
    ]);
    const candles = await stored.market.buckets(mint, '1s', ...allTime);
    expect(candles.map(({ open, high, low, close }) => [open, high, low, close])).toEqual([
      [0.25, 0.5, 0.25, 0.5],
      [0.5, 0.5, 0.4375, 0.4375],
      [0.4375, 0.5625, 0.4375, 0.5625],
      [0.5625, 0.5625, 0.5, 0.5],
      [0.5, 0.5, 0.5, 0.5],
    ]);
    // They join in USD too, although the price of SOL has changed.
    expect(candles.map(({ openUsd, closeUsd }) => [openUsd, closeUsd])).toEqual([
      [32, 64],
      [64, 56],
      [56, 72],
      [72, 128],
      [128, 128],
    ]);
    expect(await stored.market.buckets(mint, '1h', ...allTime)).toMatchObject([{ open: 0.25, high: 0.5625, low: 0.25, close: 0.5 }]);
  });

  it('count the price of a slot, and neither a sandwich within a slot, nor a pool that is moved for one slot, nor dust', async () => {
    let [slot, from] = [1_000, 0.5];
    /** A trade `slots` after the last one, in the next slot if it is 1. */
    const next = (slots: number, price: number, more: Partial<TradeShape> = {}): BusEntry => {
      slot += slots;
      const trade = tradeOf({ mint, atS: someS + Number(slot >= 1_010), before: from, price, pool: 'pump-amm', ...more });
      if (Object.keys(more).length === 0) from = price;
      return entryOf({ ...trade, slot });
    };
    const log = [
      entryOf(migrationEvent(mint, { pool: 'pump-amm', poolAddress: pool, slot: 1_000, blockTime: someS, priceQuote: 0.5 })),
      next(1, 0.5),
      // A sandwich within a slot.
      next(4, 8),
      next(0, 9),
      next(0, 0.625),
      // A pool that is moved for one slot, up and then down, at the boundary of two candles.
      next(4, 64),
      next(1, 0.6875),
      next(1_000, 0.01),
      next(1, 0.75),
      // One unit for a lamport, and a lent rival pool.
      next(4, 1e9, { tokens: 1e-9, depthSol: 0.000_01 }),
      next(0, 0.75),
      next(1, 40, { poolAddress: addressOf(920_009), depthSol: 900 }),
      // A price that stays counts, also if every slot has a trade.
      next(4, 1),
      next(1, 1.25),
      next(1, 1.5),
    ];
    const expected = [
      [0.5, 0.6875, 0.5, 0.6875],
      [0.6875, 1.5, 0.6875, 1.5],
    ];
    for (const size of [1, 2, 5, log.length]) {
      const batches = Array.from({ length: Math.ceil(log.length / size) }, (_, at) => log.slice(at * size, (at + 1) * size));
      const candles = await (await takeAll(batches)).market.buckets(mint, '1s', ...allTime);
      expect(candles.map(({ open, high, low, close }) => [open, high, low, close])).toEqual(expected);
    }
  });

  it('follow the order of the block, however the sources deliver the trades of a slot', async () => {
    const prices = [8, 9, 0.25, 0.5];
    const inSlot = (slot: number, price: number, transactionIndex?: number) => ({
      ...tradeOf({ mint, atS: someS, price }),
      slot,
      ...(transactionIndex !== undefined && { transactionIndex }),
    });
    const known = prices.map((price, index) => inSlot(10, price, 3 + index));
    // By their places in the block.
    for (const order of [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [2, 0, 3, 1],
      [1, 3, 0, 2],
    ]) {
      const log = order.map((at) => entryOf(known[at]!));
      for (const batches of [[log], log.map((one) => [one]), [...log.map((one) => [one]), [verdictEntry({ alive: [10], dead: [] })]]]) {
        expect((await stateOf(await takeAll(batches))).close).toBe(0.5);
      }
    }
    // Logs show no places; the block does, when the slot is settled.
    const unknown = prices.map((price) => inSlot(10, price));
    const stored = new StoredMarket();
    await stored.take([3, 1, 0, 2].map((at) => entryOf(unknown[at]!)));
    expect((await stateOf(stored)).close).toBe(0.25);
    const ids = unknown.map(({ id }) => id);
    await stored.take([verdictEntry({ alive: [10], dead: [], reordered: [{ slot: 10, ids }] })]);
    expect((await stateOf(stored)).close).toBe(0.5);
  });

  it('do not show a slot before it is known to last, but the first prices of a coin at once', async () => {
    const stored = new StoredMarket();
    const closeAt = async (nowUs: number): Promise<number | undefined> =>
      (await stored.market.buckets(mint, '1h', ...allTime, nowUs)).at(-1)?.close;
    const at = (slot: number, price: number, receivedUs: number): BusEntry =>
      entryOf({ ...tradeOf({ mint, atS: someS, price }), slot, ts: { received: receivedUs, published: 0 } });
    await stored.take([at(10, 0.5, 5_000_000)]);
    expect(await closeAt(5_000_000)).toBe(0.5);
    await stored.take([at(20, 8, 7_000_000)]);
    expect(await closeAt(7_999_999)).toBe(0.5);
    expect(await closeAt(8_000_000)).toBe(8);
    // It was moved back in the next slot.
    await stored.take([at(21, 0.5, 7_200_000)]);
    expect(await closeAt(7_999_999)).toBe(0.5);
    expect(await closeAt(8_200_000)).toBe(0.5);
    expect(await stored.market.buckets(mint, '1h', ...allTime)).toMatchObject([{ high: 0.5, low: 0.5 }]);
  });

  it('take the earlier opening of a trade that was read late', async () => {
    const late = { ...tradeOf({ mint, atS: someS, before: 0.75, price: 0.5 }), slot: 9, late: true as const };
    const stored = await takeAll([[entryOf({ ...tradeOf({ mint, atS: someS, before: 0.5, price: 0.25 }), slot: 10 })], [entryOf(late)]]);
    expect(await stored.market.buckets(mint, '1s', ...allTime)).toMatchObject([{ open: 0.75, high: 0.75, low: 0.25, close: 0.25 }]);
  });

  it('reflect the living events in chain order, however they arrive, are divided and resumed', async () => {
    await fc.assert(
      fc.asyncProperty(chainSteps, fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.boolean())), async (steps, cuts) => {
        const chain = new RandomChain(mint, steps);
        const stored = new StoredMarket();
        for (let at = 0, cut = 0; at < chain.entries.length; cut++) {
          const [count, restarts] = cuts[cut] ?? [7, false];
          await stored.take(chain.entries.slice(at, at + count));
          at += count;
          if (restarts) stored.restart();
        }
        const survivors = chain.inChainOrder;
        for (const [interval, seconds] of Object.entries(baseIntervals) as [BaseInterval, number][]) {
          expect(await stored.market.buckets(mint, interval, ...allTime), interval).toEqual(candlesOf(survivors, seconds));
        }
        const newest = survivors.at(-1);
        expect((await stored.headOf(mint))?.priceQuote).toBe(newest?.priceQuote);
        const recent = await stored.market.trades(mint, null, marketLimits.tradesPerMint);
        expect(recent.map((json) => (parsed(json) as TradeEvent).id)).toEqual(
          chain.inLogOrder
            .toReversed()
            .slice(0, marketLimits.tradesPerMint)
            .map(({ id }) => id),
        );
        const { price } = await stored.market.summary(mint, someS);
        expect(price === null ? undefined : (parsed(price) as PriceEvent).id).toBe(
          newest === undefined ? undefined : chain.newestPrice?.id,
        );
      }),
      { numRuns: 400 },
    );
  });
});
