import { describe, expect, it } from 'vitest';
import {
  firstMain,
  minPriceDepthSol,
  minPriceTradeSol,
  placeOf,
  placeOfRead,
  priceCounts,
  takePlace,
  type MainPool,
  type PoolPrice,
} from '@sluice/shared/market/pools/main-pool.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { addressOf } from '../support/events/stream-events.ts';

const hour = 3_600;
const startS = 1_000_000;
const [curve, pool, other, third] = [addressOf(1), addressOf(2), addressOf(3), addressOf(4)];

/** A proven pool. */
function head(changes: Partial<MainPool> = {}): MainPool {
  return {
    pool: 'pump-amm',
    poolAddress: pool,
    quoteMint: wrappedSolMint,
    depthSol: 100,
    priceQuote: 1,
    priceUsd: 100,
    mainTradedS: startS,
    curveOver: true,
    provenFromS: 0,
    rival: '',
    rivalSinceS: 0,
    ...changes,
  };
}
const onCurve = (changes: Partial<MainPool> = {}): MainPool => head({ pool: 'pump', poolAddress: curve, curveOver: false, ...changes });
const trade = (changes: Partial<PoolPrice> = {}): PoolPrice => ({
  pool: 'pump-amm',
  poolAddress: other,
  quoteMint: wrappedSolMint,
  depthSol: 1,
  priceQuote: 1,
  priceUsd: 100,
  sizeSol: 1,
  atS: startS + 10,
  ...changes,
});

/** The main pool after these trades. */
function after(main: MainPool, ...trades: readonly PoolPrice[]): MainPool {
  const state = { ...main };
  for (const one of trades) takePlace(state, one, placeOf(state, one));
  return state;
}

describe('a price', () => {
  it('counts in an ordinary pool only above a depth and a size, on a curve always', () => {
    const least = { depthSol: minPriceDepthSol, sizeSol: minPriceTradeSol };
    expect(priceCounts(trade(least))).toBe(true);
    expect(priceCounts(trade({ ...least, depthSol: minPriceDepthSol * 0.99 }))).toBe(false);
    expect(priceCounts(trade({ ...least, sizeSol: minPriceTradeSol * 0.99 }))).toBe(false);
    expect(priceCounts(trade({ ...least, priceQuote: null }))).toBe(false);
    expect(priceCounts(trade({ pool: 'pump', depthSol: 0, sizeSol: 0 }))).toBe(true);
    // Of a pool of concentrated liquidity, logs do not show the depth.
    expect(priceCounts(trade({ depthSol: null, sizeSol: null }))).toBe(true);
    expect(after(head(), trade({ poolAddress: pool, depthSol: null, priceQuote: 2 }))).toMatchObject({ depthSol: 100, priceQuote: 2 });
    expect(placeOf(head({ provenFromS: startS + 600 }), trade({ depthSol: null }))).toBe('other');
  });

  it('that does not count changes the depth of the main pool, and not its price', () => {
    const dust = trade({ poolAddress: pool, depthSol: 90, priceQuote: 7, sizeSol: 1e-9 });
    expect(after(head(), dust)).toMatchObject({ poolAddress: pool, depthSol: 90, priceQuote: 1, priceUsd: 100 });
    expect(firstMain(dust)).toMatchObject({ poolAddress: pool, priceQuote: null, priceUsd: null });
  });
});

describe('the main pool of a mint', () => {
  it('is the first one seen, until another one replaces it', () => {
    expect(placeOf(null, trade())).toBe('successor');
    expect(placeOf(head(), trade({ poolAddress: pool, depthSol: 0 }))).toBe('main');
  });

  it('is the curve until the curve is over, however deep another pool is', () => {
    expect(placeOf(onCurve(), trade({ depthSol: 5_000 }))).toBe('other');
    expect(placeOf(head({ curveOver: false }), trade({ pool: 'pump', poolAddress: curve }))).toBe('successor');
    expect(placeOf(head(), trade({ pool: 'pump', poolAddress: curve, depthSol: 5_000 }))).toBe('other');
  });

  it('is replaced soon after its curve is over, by a pool of some depth at about its price', () => {
    const over = onCurve({ curveOver: true });
    expect(after(over, trade({ depthSol: 10 }), trade({ depthSol: 10, atS: startS + 19 }))).toMatchObject({ poolAddress: curve });
    const lasted = after(over, trade({ depthSol: 10 }), trade({ depthSol: 10, atS: startS + 20 }));
    expect(lasted).toMatchObject({ poolAddress: other, provenFromS: startS + 620 });
    expect(placeOf(over, trade({ depthSol: 9 }))).toBe('other');
    expect(placeOf(over, trade({ depthSol: 5_000, priceQuote: 3, priceUsd: 300 }))).toBe('other');
  });

  it('is replaced by a pool that was deeper by a tenth for a minute, not by one that was for a moment', () => {
    const deeper = (laterS: number, changes: Partial<PoolPrice> = {}): PoolPrice =>
      trade({ depthSol: 111, atS: startS + laterS, ...changes });
    expect(after(head(), deeper(10, { depthSol: 109 }), deeper(70, { depthSol: 109 }))).toMatchObject({ poolAddress: pool, rival: '' });
    expect(after(head(), deeper(10), deeper(69))).toMatchObject({ poolAddress: pool, rival: other });
    expect(after(head(), deeper(10), deeper(70))).toMatchObject({ poolAddress: other, depthSol: 111, provenFromS: 0, rival: '' });
    expect(after(head(), deeper(10), deeper(40, { depthSol: 50 }), deeper(70))).toMatchObject({
      poolAddress: pool,
      rivalSinceS: startS + 70,
    });
    // Two rivals do not keep each other out, and one that left does not keep others out.
    expect(after(head(), deeper(10), deeper(20, { poolAddress: third }), deeper(70))).toMatchObject({ poolAddress: other });
    const left = [deeper(10), deeper(131, { poolAddress: third }), deeper(191, { poolAddress: third })];
    expect(after(head(), ...left)).toMatchObject({ poolAddress: third });
  });

  it('is not replaced by a deep pool at another price', () => {
    const fake = { depthSol: 5_000, priceQuote: 3, priceUsd: 300 };
    expect(placeOf(head(), trade(fake))).toBe('other');
    expect(placeOf(head(), trade({ ...fake, priceQuote: 0.3 }))).toBe('other');
    expect(placeOf(head(), trade({ ...fake, priceQuote: 2.9 }))).toBe('rival');
    // Pools with different quote coins are compared in USD.
    expect(placeOf(head(), trade({ ...fake, quoteMint: usdcMint, priceQuote: 100, priceUsd: 100 }))).toBe('rival');
    expect(placeOf(head(), trade({ ...fake, quoteMint: usdcMint, priceQuote: 300, priceUsd: 300 }))).toBe('other');
  });

  it('is replaced after an hour without a trade by a pool of some depth, after a day at any price', () => {
    const at = (laterS: number, changes: Partial<PoolPrice> = {}): PoolPrice => trade({ atS: startS + laterS, depthSol: 10, ...changes });
    expect(placeOf(head(), at(hour + 1, { depthSol: 9 }))).toBe('other');
    expect(placeOf(head(), at(hour + 1))).toBe('rival');
    expect(placeOf(head(), at(hour))).toBe('other');
    expect(placeOf(head(), at(hour + 1, { priceQuote: 3 }))).toBe('other');
    expect(after(head(), at(hour + 1), at(hour + 61))).toMatchObject({ poolAddress: other });
    const fake = [at(24 * hour + 1, { priceQuote: 3, priceUsd: 300 }), at(24 * hour + 61, { priceQuote: 3, priceUsd: 300 })] as const;
    expect(after(head(), fake[0])).toMatchObject({ poolAddress: pool });
    expect(after(head(), ...fake)).toMatchObject({ poolAddress: other, provenFromS: startS + 24 * hour + 661 });
    expect(placeOf(onCurve(), at(hour + 1))).toBe('rival');
    expect(placeOf(onCurve(), at(24 * hour + 1, { priceQuote: 3 }))).toBe('other');
  });

  it('is replaced within seconds by a deeper one while only its own trades show it, not by one that is deep for some slots', () => {
    const main = firstMain(trade({ depthSol: 100, atS: startS }));
    const deeper = (laterS: number, depthSol = 111): PoolPrice =>
      trade({ poolAddress: third, depthSol, priceQuote: 1_000, priceUsd: 100_000, atS: startS + laterS });
    expect(after(main, deeper(580), deeper(589))).toMatchObject({ poolAddress: other });
    // Not proven either: a deeper pool can replace it in turn.
    expect(after(main, deeper(580), deeper(590))).toMatchObject({ poolAddress: third, provenFromS: startS + 1_190 });
    expect(after(main, deeper(580), deeper(585, 0), deeper(590))).toMatchObject({ poolAddress: other });
    // One that was lent its depth does not keep out the one that has it.
    const lent = trade({ poolAddress: addressOf(5), depthSol: 5_000, atS: startS + 1 });
    expect(after(main, lent, ...[2, 12, 22, 32].map((laterS) => deeper(laterS)))).toMatchObject({ poolAddress: third });
    expect(placeOf(main, deeper(599))).toBe('rival');
    expect(placeOf(main, deeper(600))).toBe('other');
    expect(placeOf(firstMain(trade({ depthSol: 100, atS: startS }), true), deeper(10))).toBe('other');
  });

  it('is the one that the chain shows, unless a proven pool trades', () => {
    const read = trade({ atS: startS + 10 });
    expect(placeOfRead(head(), read)).toBe('other');
    expect(placeOfRead(head({ provenFromS: startS + 600 }), read)).toBe('successor');
    expect(placeOfRead(onCurve(), read)).toBe('successor');
    expect(placeOfRead(head(), trade({ atS: startS + hour + 1 }))).toBe('successor');
    expect(placeOfRead(head({ poolAddress: other }), read)).toBe('main');
  });
});
