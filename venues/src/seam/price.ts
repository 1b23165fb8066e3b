import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import type { Reserves } from '@sluice/shared/wire/events/events.ts';
import type { PoolReserves, PriceState } from './venue.ts';

/** Quote coins for one token from the pool's state, which is independent of the size of trades; null if the state gives no price. */
export function priceOf(
  { priceQuote, priceBase }: Pick<PriceState, 'priceQuote' | 'priceBase'>,
  baseDecimals: number,
  quoteDecimals: number,
): number | null {
  if (priceBase <= 0n || priceQuote <= 0n) return null;
  const price = toUi(priceQuote, quoteDecimals) / toUi(priceBase, baseDecimals);
  return Number.isFinite(price) ? price : null;
}

/** Reserves as clients receive them. */
export function wireReserves({ virtualBase, virtualQuote, realBase, realQuote }: PoolReserves): Reserves {
  return { virtualBase: `${virtualBase}`, virtualQuote: `${virtualQuote}`, realBase: `${realBase}`, realQuote: `${realQuote}` };
}

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
