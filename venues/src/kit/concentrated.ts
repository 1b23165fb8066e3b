import { depthShare } from '@sluice/shared/market/depth-share.ts';
import type { PriceState } from '../venue.ts';

/** Pools of concentrated liquidity. The square root of a price is that of raw quote for raw base, times 2^64 (Q64.64). */
const sqrtPriceBits = 64n;
const one = 1n << (2n * sqrtPriceBits);

const scale = 1_000_000_000n;
const fallen = BigInt(Math.round(depthShare * Number(scale)));

/** The depth if the liquidity is the same within that band. */
function depthOf(sqrtPrice: bigint, liquidity: bigint): bigint {
  return (((liquidity * sqrtPrice) / scale) * fallen) >> sqrtPriceBits;
}

/** State from the square root of the price and the liquidity (null if unknown). */
export function stateOfSqrtPrice(sqrtPrice: bigint, liquidity: bigint | null): PriceState {
  return {
    priceQuote: sqrtPrice * sqrtPrice,
    priceBase: one,
    reserves: null,
    depth: liquidity === null ? null : depthOf(sqrtPrice, liquidity),
  };
}

/** Average liquidity during a swap: the raw quote that moved, divided by the change of the square root. Null if the price did not change. */
export function liquidityMet(quoteAmount: bigint, sqrtPriceBefore: bigint, sqrtPriceAfter: bigint): bigint | null {
  const way = sqrtPriceBefore > sqrtPriceAfter ? sqrtPriceBefore - sqrtPriceAfter : sqrtPriceAfter - sqrtPriceBefore;
  return way === 0n ? null : (quoteAmount << sqrtPriceBits) / way;
}
