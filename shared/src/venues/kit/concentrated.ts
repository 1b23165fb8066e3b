import type { PriceState } from '../venue.ts';

/** Pools of concentrated liquidity. A square root of a price is of raw quote for raw base, times 2^64 (Q64.64). */
const sqrtPriceBits = 64n;
const one = 1n << (2n * sqrtPriceBits);

// The square root of the price falls by the factor sqrt(0.99) when the price falls by 1 %.
const scale = 1_000_000_000n;
const fallen = scale - BigInt(Math.round(Math.sqrt(0.99) * Number(scale)));

/** Raw quote that sellers get before the price has fallen by 1 %, if the liquidity stays the same within that band. */
function depthOf(sqrtPrice: bigint, liquidity: bigint): bigint {
  return (((liquidity * sqrtPrice) / scale) * fallen) >> sqrtPriceBits;
}

/** State by the square root of the price and the liquidity; the latter null if unknown. */
export function stateOfSqrtPrice(sqrtPrice: bigint, liquidity: bigint | null): PriceState {
  return {
    priceQuote: sqrtPrice * sqrtPrice,
    priceBase: one,
    reserves: null,
    depth: liquidity === null ? null : depthOf(sqrtPrice, liquidity),
  };
}

/** Liquidity that a swap met on average: raw quote that moved for the way of the square root. Null if the price did not move. */
export function liquidityMet(quoteAmount: bigint, sqrtPriceBefore: bigint, sqrtPriceAfter: bigint): bigint | null {
  const way = sqrtPriceBefore > sqrtPriceAfter ? sqrtPriceBefore - sqrtPriceAfter : sqrtPriceAfter - sqrtPriceBefore;
  return way === 0n ? null : (quoteAmount << sqrtPriceBits) / way;
}
