import { coins, price } from './price.ts';
import { shortAddress } from './text.ts';

export const wrappedSol = 'So11111111111111111111111111111111111111112';
interface QuoteCoin {
  readonly symbol: string;
  readonly decimals: number;
  /** Amounts that people often spend, the smallest first. */
  readonly presets: readonly string[];
}

const dollars = { decimals: 6, presets: ['10', '50', '100'] } as const;
const coinsByMint: ReadonlyMap<string, QuoteCoin> = new Map([
  [wrappedSol, { symbol: 'SOL', decimals: 9, presets: ['0.1', '0.5', '1'] }],
  ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', { symbol: 'USDC', ...dollars }],
  ['Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', { symbol: 'USDT', ...dollars }],
]);
/** For a coin of unknown worth. */
const plainPresets: readonly string[] = ['1', '10', '100'];

/** The symbol of the coin in which a token trades; the beginning and end of its mint if it is another one. Null counts as SOL. */
export function quoteSymbol(quoteMint: string | null): string {
  return coinsByMint.get(quoteMint ?? wrappedSol)?.symbol ?? shortAddress(quoteMint ?? wrappedSol);
}

/** Null if they are not known here. */
export function decimalsOf(quoteMint: string): number | null {
  return coinsByMint.get(quoteMint)?.decimals ?? null;
}

export function presetsOf(quoteMint: string | null): readonly string[] {
  return coinsByMint.get(quoteMint ?? wrappedSol)?.presets ?? plainPresets;
}

/** An amount of a quote coin, at most four digits after the point: `0.5 SOL`, `0.0123 USDC`. Dollars have two: `631.84 USDC`. */
export function inQuoteCoin(value: number | null | undefined, quoteMint: string | null): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return price(null);
  const isDollars = quoteMint !== null && decimalsOf(quoteMint) === dollars.decimals && Math.abs(value) >= 1;
  const text = isDollars ? value.toLocaleString('en-US', { maximumFractionDigits: 2 }) : coins(value);
  return `${text} ${quoteSymbol(quoteMint)}`;
}

/** The price of a trade or a pool in USD, or in its quote coin if that has no known worth. */
export function tradePrice({
  priceUsd,
  priceQuote,
  quoteMint,
}: { readonly [K in 'priceUsd' | 'priceQuote']: number | null } & { readonly quoteMint: string }): string {
  if (priceUsd !== null) return `$${price(priceUsd)}`;
  return priceQuote === null ? price(null) : `${price(priceQuote)} ${quoteSymbol(quoteMint)}`;
}
