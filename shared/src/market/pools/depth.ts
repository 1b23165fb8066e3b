import { quoteInSol, rawInSol } from '../../wire/values/money.ts';
import { depthOfReserves } from './depth-share.ts';
import type { MigrationEvent, NewTokenEvent, PoolEvent, PriceEvent, TradeEvent } from '../../wire/events/events.ts';
import type { PoolPrice } from './main-pool.ts';

/** The fields of an event that show the depth of its pool. */
export type DepthFields = Pick<TradeEvent, 'quoteMint' | 'priceQuote' | 'priceSol' | 'reserves'> & { readonly depth?: string };

/** The depth of a pool in raw quote coins: from its reserves if there are any, else as its venue states it. Null if it is unknown. */
export function rawDepth(virtualQuote: string | null, realQuote: string | null, stated: string | null): number | null {
  if (virtualQuote !== null && realQuote !== null) return depthOfReserves(Number(virtualQuote), Number(realQuote));
  return stated === null ? null : Number(stated);
}

/** The depth of a pool in SOL; null if it is unknown. */
export function depthInSol({ quoteMint, priceQuote, priceSol, reserves, depth }: DepthFields): number | null {
  return rawInSol(rawDepth(reserves?.virtualQuote ?? null, reserves?.realQuote ?? null, depth ?? null), quoteMint, priceQuote, priceSol);
}

const maxSecond = 0xffff_ffff;

/** Unix seconds of an event, in 32 bits: the chain's time, or the time of receipt if the chain's is unknown or impossible. */
export function secondOf({ blockTime, ts }: Pick<TradeEvent, 'blockTime' | 'ts'>): number {
  const isTime = blockTime !== null && blockTime >= 0 && blockTime <= maxSecond;
  return isTime ? Math.floor(blockTime) : Math.floor(ts.received / 1_000_000);
}

/** A migration opens a pool with these amounts. */
function depthAtOpening({ quoteAmount, quoteMint, priceQuote, priceSol }: MigrationEvent): number | null {
  return rawInSol(rawDepth(quoteAmount, quoteAmount, null), quoteMint, priceQuote, priceSol);
}

/** The fields of an event that decide whether its price counts. */
export function poolPriceOf(event: TradeEvent | PriceEvent | NewTokenEvent | MigrationEvent | PoolEvent): PoolPrice {
  const { pool, poolAddress, quoteMint, priceQuote, priceSol, priceUsd } = event;
  const depthSol = event.type === 'migration' ? depthAtOpening(event) : depthInSol(event);
  const sizeSol = event.type === 'trade' ? quoteInSol(event.quoteUiAmount, quoteMint, priceQuote, priceSol) : null;
  return { pool, poolAddress, quoteMint, depthSol, priceQuote, priceUsd, sizeSol, atS: secondOf(event) };
}
