import { inSol, inUsd } from '@sluice/shared/wire/values/money.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { solUsdStaleAfterMs, type SolUsd } from './sol-usd.ts';

export interface Valuation {
  readonly priceQuote: number | null;
  readonly priceSol: number | null;
  readonly priceUsd: number | null;
  readonly marketCapSol: number | null;
  readonly marketCapUsd: number | null;
}

/** The SOL/USD price that was used for an event, with its age. */
export interface SolUsdAt {
  readonly price: number;
  readonly slot: number;
  readonly ageMs: number;
}

/** The SOL/USD price with its age at `atMs`; null if there is none or it is too old. */
export function solUsdAt(solUsd: SolUsd | null, atMs: number): SolUsdAt | null {
  if (solUsd === null) return null;
  const ageMs = Math.max(0, Math.round(atMs - solUsd.atMs));
  return ageMs > solUsdStaleAfterMs ? null : { price: solUsd.price, slot: solUsd.slot, ageMs };
}

const noPrice: Valuation = { priceQuote: null, priceSol: null, priceUsd: null, marketCapSol: null, marketCapUsd: null };

/** A price in SOL and USD if the quote coin has such a value. The market caps follow from another price (`setCaps`). */
export function valuation(priceQuote: number | null, quoteMint: string, solUsd: SolUsdAt | null): Valuation {
  if (priceQuote === null) return noPrice;
  const priceSol = inSol(priceQuote, quoteMint, solUsd?.price ?? null);
  const priceUsd = inUsd(priceQuote, quoteMint, solUsd?.price ?? null);
  return { priceQuote, priceSol, priceUsd, marketCapSol: null, marketCapUsd: null };
}

/** The value of all tokens (`supply`: raw units) at a price of one token. */
export function capsOf(
  priceQuote: number,
  quoteMint: string,
  supply: bigint | null,
  decimals: number,
  solUsd: SolUsdAt | null,
): Pick<Valuation, 'marketCapSol' | 'marketCapUsd'> {
  // The mint of wrapped SOL states a supply of 0: such a coin has no market cap.
  if (supply === null || supply === 0n) return noPrice;
  const tokens = toUi(supply, decimals);
  const { priceSol, priceUsd } = valuation(priceQuote, quoteMint, solUsd);
  return {
    marketCapSol: priceSol === null ? null : finite(priceSol * tokens),
    marketCapUsd: priceUsd === null ? null : finite(priceUsd * tokens),
  };
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
