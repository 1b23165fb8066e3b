import { coins, price } from './price.ts';
import { shortAddress } from './text.ts';

export const wrappedSol = 'So11111111111111111111111111111111111111112';
const symbols: ReadonlyMap<string, string> = new Map([
  [wrappedSol, 'SOL'],
  ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', 'USDC'],
  ['Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', 'USDT'],
]);

/** The symbol of the coin in which a token trades; the beginning and end of its mint if it is another one. Null counts as SOL. */
export function quoteSymbol(quoteMint: string | null): string {
  return symbols.get(quoteMint ?? wrappedSol) ?? shortAddress(quoteMint ?? wrappedSol);
}

/** An amount of a quote coin, at most four digits after the point: `0.5 SOL`, `12.3 USDC`. */
export function inQuoteCoin(value: number | null | undefined, quoteMint: string | null): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return price(null);
  return `${coins(value)} ${quoteSymbol(quoteMint)}`;
}
