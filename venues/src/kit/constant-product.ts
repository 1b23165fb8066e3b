import type { PoolAccount, PoolReserves, PriceState } from '../venue.ts';

/** Output of a trade against x × y = k, rounded down. */
export function amountOut(amountIn: bigint, reserveIn: bigint, reserveOut: bigint): bigint {
  return (reserveOut * amountIn) / (reserveIn + amountIn);
}

/** The reserves of a pool from the balances of its vaults. */
export function reservesOfVaults(pool: Pick<PoolAccount, 'virtualBase' | 'virtualQuote'>, base: bigint, quote: bigint): PoolReserves {
  return { virtualBase: base + pool.virtualBase, virtualQuote: quote + pool.virtualQuote, realBase: base, realQuote: quote };
}

/** The state of a pool whose price is the quotient of its reserves. */
export function stateOfReserves(reserves: PoolReserves): PriceState {
  return { priceQuote: reserves.virtualQuote, priceBase: reserves.virtualBase, reserves, depth: null };
}
