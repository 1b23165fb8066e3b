import type { PoolReserves, PriceState } from '../venue.ts';

/** Output of a trade against x × y = k, rounded down. */
export function amountOut(amountIn: bigint, reserveIn: bigint, reserveOut: bigint): bigint {
  return (reserveOut * amountIn) / (reserveIn + amountIn);
}

/** The price of a pool that is a quotient of its reserves. */
export function stateOfReserves(reserves: PoolReserves): PriceState {
  return { priceQuote: reserves.virtualQuote, priceBase: reserves.virtualBase, reserves, depth: null };
}
