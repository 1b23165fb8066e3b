import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
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
    const stored = await takeAll([[entryOf(completion)], [entryOf(first)]]);
    expect(await stateOf(stored)).toMatchObject({ head: { poolAddress: pool }, close: 0.25 });
  });

  it('open a candle at the price before its first trade, so that candles join and a single buy has a body', async () => {
    const before = (atS: number, from: number | null, price: number, more: Partial<TradeShape> = {}): BusEntry =>
      entryOf(tradeOf({ mint, atS, before: from, price, ...more }));
    const stored = await takeAll([
      [before(someS, 0.25, 0.5), before(someS + 3, 0.5, 0.375), before(someS + 3, 0.375, 0.4375)],
      // The price before this one is not shown, so that of the pool is used.
      [before(someS + 5, null, 0.5625), before(someS + 7, 0.5625, 0.5, { solUsd: 256 })],
      // A trade in another pool adds the current price.
      [before(someS + 8, 8, 9, { pool: 'pump-amm', poolAddress: addressOf(920_007), depthSol: 1 })],
    ]);
    const candles = await stored.market.buckets(mint, '1s', ...allTime);
    expect(candles.map(({ open, high, low, close }) => [open, high, low, close])).toEqual([
      [0.25, 0.5, 0.25, 0.5],
      [0.5, 0.5, 0.375, 0.4375],
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
