import { inSol, inUsd, type Rates } from '@sluice/shared/wire/values/money.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
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

/** The value of all tokens (`supply`: raw units) at a price of one token. */
export function capsOf(
  priceQuote: number,
  quoteMint: string,
  supply: bigint | null,
  decimals: number,
  rates: Rates,
): Pick<Valuation, 'marketCapSol' | 'marketCapUsd'> {
  // The mint of wrapped SOL states a supply of 0: such a coin has no market cap.
  if (supply === null || supply === 0n) return noPrice;
  const tokens = toUi(supply, decimals);
  const { priceSol, priceUsd } = valuation(priceQuote, quoteMint, rates);
  return {
    marketCapSol: priceSol === null ? null : finite(priceSol * tokens),
    marketCapUsd: priceUsd === null ? null : finite(priceUsd * tokens),
  };
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
