import type { PoolReserves, PriceState } from './venue.ts';

/** The same state with base and quote exchanged. */
export function flipPrice({ priceQuote, priceBase, reserves, depth }: PriceState): PriceState {
  return {
    priceQuote: priceBase,
    priceBase: priceQuote,
    reserves: reserves === null ? null : flipReserves(reserves),
    depth: depth === null || priceQuote === 0n ? null : (depth * priceBase) / priceQuote,
  };
}

export function flipReserves(reserves: PoolReserves): PoolReserves {
  return {
    virtualBase: reserves.virtualQuote,
    virtualQuote: reserves.virtualBase,
    realBase: reserves.realQuote,
    realQuote: reserves.realBase,
  };
}
