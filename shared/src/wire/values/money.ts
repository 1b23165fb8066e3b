import { solDecimals, usdcDecimals, usdcMint, wrappedSolMint } from '../../solana/well-known.ts';

/** A coin that prices are quoted in. Its decimals never change, and its mint belongs to SPL Token. */
export interface QuoteCoin {
  readonly mint: string;
  readonly symbol: string;
  readonly decimals: number;
  /** The value of one coin: 1 SOL, or 1 USD. */
  readonly unit: 'sol' | 'usd';
}

/** All quote coins that have a value in SOL and USD, by mint. If the order matters (equally good pools), the first one wins. */
export const quoteCoins: ReadonlyMap<string, QuoteCoin> = new Map([
  [wrappedSolMint, { mint: wrappedSolMint, symbol: 'SOL', decimals: solDecimals, unit: 'sol' }],
  [usdcMint, { mint: usdcMint, symbol: 'USDC', decimals: usdcDecimals, unit: 'usd' }],
]);

/** Value in SOL of an amount of whole quote coins; null if the coin has no known value, or needs a SOL/USD price and there is none. */
export function inSol(amount: number, quoteMint: string, solUsd: number | null): number | null {
  const unit = quoteCoins.get(quoteMint)?.unit;
  if (unit === 'sol') return finite(amount);
  return unit === undefined || solUsd === null ? null : finite(amount / solUsd);
}

/** Value in USD of an amount of whole quote coins; null if the coin has no known value, or needs a SOL/USD price and there is none. */
export function inUsd(amount: number, quoteMint: string, solUsd: number | null): number | null {
  const unit = quoteCoins.get(quoteMint)?.unit;
  if (unit === 'usd') return finite(amount);
  return unit === undefined || solUsd === null ? null : finite(amount * solUsd);
}

/** Both values of an amount of whole quote coins. */
export function inSolAndUsd(
  amount: number,
  quoteMint: string,
  solUsd: number | null,
): { readonly sol: number | null; readonly usd: number | null } {
  return { sol: inSol(amount, quoteMint, solUsd), usd: inUsd(amount, quoteMint, solUsd) };
}

/**
 * Whether a program has the pair of a pool the other way round: its base is a quote coin, and its quote is not. Prices are in quote coins, so such a
 * pool is reversed.
 */
export function isReversedPair(baseMint: string, quoteMint: string): boolean {
  return quoteCoins.has(baseMint) && !quoteCoins.has(quoteMint);
}

/**
 * Value in SOL of an amount of whole quote coins, from the prices of an event of a pool: in quote coins and in SOL for one token. Null if it is
 * unknown.
 */
export function quoteInSol(amount: number, quoteMint: string, priceQuote: number | null, priceSol: number | null): number | null {
  const unit = quoteCoins.get(quoteMint)?.unit;
  if (unit === 'sol') return amount;
  return unit === undefined || priceQuote === null || priceSol === null || priceQuote === 0 ? null : amount * (priceSol / priceQuote);
}

/** The same for raw quote coins; null also if the amount is. */
export function rawInSol(rawQuote: number | null, quoteMint: string, priceQuote: number | null, priceSol: number | null): number | null {
  const coin = quoteCoins.get(quoteMint);
  return coin === undefined || rawQuote === null ? null : quoteInSol(rawQuote / 10 ** coin.decimals, quoteMint, priceQuote, priceSol);
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
