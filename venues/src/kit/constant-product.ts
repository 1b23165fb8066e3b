import type { PoolAccount, PoolReserves, PriceState } from '../seam/venue.ts';

export function dividedUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** Output of a trade against x × y = k, rounded down. */
export function amountOut(amountIn: bigint, reserveIn: bigint, reserveOut: bigint): bigint {
  return (reserveOut * amountIn) / (reserveIn + amountIn);
}

/** The reserves of a pool from the balances of its vaults. Fees that wait in a vault cannot leave the pool by a trade, so they are not real either. */
export function reservesOfVaults(pool: Pick<PoolAccount, 'virtualBase' | 'virtualQuote'>, base: bigint, quote: bigint): PoolReserves {
  const [virtualBase, virtualQuote] = [base + pool.virtualBase, quote + pool.virtualQuote];
  return {
    virtualBase,
    virtualQuote,
    realBase: virtualBase < base ? virtualBase : base,
    realQuote: virtualQuote < quote ? virtualQuote : quote,
  };
}

/** Reserves of a pool whose price counts exactly what can leave it. */
export function sameReserves(base: bigint, quote: bigint): PoolReserves {
  return { virtualBase: base, virtualQuote: quote, realBase: base, realQuote: quote };
}

/** The state of a pool whose price is the quotient of its reserves. */
export function stateOfReserves(reserves: PoolReserves): PriceState {
  return { priceQuote: reserves.virtualQuote, priceBase: reserves.virtualBase, reserves, depth: null };
}
