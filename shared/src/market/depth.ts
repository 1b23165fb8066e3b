import { rawInSol } from '../money.ts';
import { depthOfReserves } from '../venues/kit/constant-product.ts';
import type { TradeEvent } from '../wire/events.ts';

/** The fields of an event that show the depth of its pool. */
export type DepthFields = Pick<TradeEvent, 'quoteMint' | 'priceQuote' | 'priceSol' | 'reserves' | 'depth'>;

/** The depth of a pool in raw quote coins: from its reserves if there are any, else as its venue states it. 0 if it is unknown. */
export function rawDepth(virtualQuote: string | null, realQuote: string | null, stated: string | null): number {
  return virtualQuote === null || realQuote === null ? Number(stated ?? 0) : depthOfReserves(Number(virtualQuote), Number(realQuote));
}

/** The depth of a pool in SOL; 0 if it is unknown. */
export function depthInSol({ quoteMint, priceQuote, priceSol, reserves, depth }: DepthFields): number {
  return rawInSol(rawDepth(reserves?.virtualQuote ?? null, reserves?.realQuote ?? null, depth ?? null), quoteMint, priceQuote, priceSol);
}
