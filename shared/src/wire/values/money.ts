import { solDecimals, usdcDecimals, usdcMint, wrappedSolMint } from '../../solana/well-known.ts';

/** A coin that prices are quoted in. Its decimals never change, and its mint belongs to SPL Token. */
export interface QuoteCoin {
  readonly mint: string;
  readonly symbol: string;
  readonly decimals: number;
  /** What its value is counted in. Of money, the value of one coin: 1 SOL, or 1 USD. */
  readonly unit: 'sol' | 'usd';
  readonly isMoney: boolean;
}

/** The coins that count as money, by mint: orders pay in them. If the order matters (equally good pools), the first one wins. */
export const quoteCoins: ReadonlyMap<string, QuoteCoin> = new Map([
  [wrappedSolMint, { mint: wrappedSolMint, symbol: 'SOL', decimals: solDecimals, unit: 'sol', isMoney: true }],
  [usdcMint, { mint: usdcMint, symbol: 'USDC', decimals: usdcDecimals, unit: 'usd', isMoney: true }],
]);

/** All quote coins that have a value in SOL and USD. Pools on the chain show the value of those that are no money: a stable coin is not always worth 1 USD. */
export const valuedCoins: ReadonlyMap<string, QuoteCoin> = new Map(
  [
    ...quoteCoins.values(),
    { mint: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', symbol: 'USDT', decimals: 6, unit: 'usd', isMoney: false } as const,
    { mint: 'USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB', symbol: 'USD1', decimals: 6, unit: 'usd', isMoney: false } as const,
    { mint: 'J1toso1uCk3RLmjorhTtrVwY9HJ7X8V9yYac6Y7kGCPn', symbol: 'JitoSOL', decimals: 9, unit: 'sol', isMoney: false } as const,
  ].map((coin) => [coin.mint, coin]),
);

/** What quote coins are worth at one time. */
export interface Rates {
  /** USD for one SOL; null if it is unknown. */
  readonly solUsd: number | null;
  /** For one coin that is no money, SOL or USD by its unit. Null: its pools are too old, or contradict each other. */
  readonly coins?: ReadonlyMap<string, { readonly price: number } | null>;
}

/** Value in a unit of an amount of whole quote coins; null if the coin has no known value, or needs a SOL/USD price and there is none. */
function valueIn(unit: QuoteCoin['unit'], amount: number, quoteMint: string, { solUsd, coins }: Rates): number | null {
  const coin = valuedCoins.get(quoteMint);
  const rate = coin?.isMoney === true ? 1 : coins?.get(quoteMint)?.price;
  if (coin === undefined || rate === undefined) return null;
  if (coin.unit === unit) return finite(amount * rate);
  return solUsd === null ? null : finite(unit === 'usd' ? amount * rate * solUsd : (amount * rate) / solUsd);
}

export function inSol(amount: number, quoteMint: string, rates: Rates): number | null {
  return valueIn('sol', amount, quoteMint, rates);
}

export function inUsd(amount: number, quoteMint: string, rates: Rates): number | null {
  return valueIn('usd', amount, quoteMint, rates);
}

/** Both values of an amount of whole quote coins. */
export function inSolAndUsd(amount: number, quoteMint: string, rates: Rates): { readonly sol: number | null; readonly usd: number | null } {
  return { sol: inSol(amount, quoteMint, rates), usd: inUsd(amount, quoteMint, rates) };
}

/**
 * Whether a program has the pair of a pool the other way round: its base is a quote coin, and its quote is not, or is no money. Prices are in quote
 * coins, so such a pool is reversed.
 */
export function isReversedPair(baseMint: string, quoteMint: string): boolean {
  return (quoteCoins.has(baseMint) && !quoteCoins.has(quoteMint)) || (valuedCoins.has(baseMint) && !valuedCoins.has(quoteMint));
}

/**
 * Value in SOL of an amount of whole quote coins, from the prices of an event of a pool: in quote coins and in SOL for one token. Null if it is
 * unknown.
 */
export function quoteInSol(amount: number, quoteMint: string, priceQuote: number | null, priceSol: number | null): number | null {
  if (quoteMint === wrappedSolMint) return amount;
  if (!valuedCoins.has(quoteMint) || priceQuote === null || priceSol === null || priceQuote === 0) return null;
  return amount * (priceSol / priceQuote);
}

/** The same for raw quote coins; null also if the amount is. */
export function rawInSol(rawQuote: number | null, quoteMint: string, priceQuote: number | null, priceSol: number | null): number | null {
  const coin = valuedCoins.get(quoteMint);
  return coin === undefined || rawQuote === null ? null : quoteInSol(rawQuote / 10 ** coin.decimals, quoteMint, priceQuote, priceSol);
}

export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
