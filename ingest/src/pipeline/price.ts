import { inSol, inUsd, type Rates } from '@sluice/shared/wire/values/money.ts';
import { solUsdAt, type SolUsdAt, type SolUsdFeed } from './sol-usd.ts';

export interface Valuation {
  readonly priceQuote: number | null;
  readonly priceSol: number | null;
  readonly priceUsd: number | null;
  readonly marketCapSol: number | null;
  readonly marketCapUsd: number | null;
}

/** What quote coins are worth at the time of an event. */
export interface EventRates extends Rates {
  readonly solUsdAt: SolUsdAt | null;
  readonly coins: SolUsdFeed['coins'];
}

export function ratesAt({ current, coins }: SolUsdFeed, receivedUs: number): EventRates {
  const at = solUsdAt(current, receivedUs / 1000);
  return { solUsd: at?.price ?? null, coins, solUsdAt: at };
}

const noPrice: Valuation = { priceQuote: null, priceSol: null, priceUsd: null, marketCapSol: null, marketCapUsd: null };

/** A price in SOL and USD if the quote coin has such a value. The market caps follow from another price (`setCaps`). */
export function valuation(priceQuote: number | null, quoteMint: string, rates: Rates): Valuation {
  if (priceQuote === null) return noPrice;
  const priceSol = inSol(priceQuote, quoteMint, rates);
  const priceUsd = inUsd(priceQuote, quoteMint, rates);
  return { priceQuote, priceSol, priceUsd, marketCapSol: null, marketCapUsd: null };
}
