import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { MarketHealth } from '../market-health.ts';
import type { MintView } from './mint-view.ts';
import { priceNow } from './render-token.ts';
import type { TokenBook } from './token-book.ts';

/** What one token is worth now. */
export interface TokenWorth {
  /** SOL for one whole token; null if no current price is known. */
  readonly priceSol: number | null;
  readonly decimals: number;
}

/** Current prices of tokens. */
export interface TokenPrices {
  /** Null if the token is not in memory. */
  known(mint: string): TokenWorth | null;
  /** Reads the token if it is not in memory. Null if it cannot be read. Never rejects. */
  read(mint: string): Promise<TokenWorth | null>;
}

export function tokenPrices(book: TokenBook, health: MarketHealth, clock: Pick<Clock, 'wallMs'>): TokenPrices {
  const worthOf = (token: MintView): TokenWorth => {
    book.refreshIfDue(token);
    return { priceSol: priceNow(token, health, health.rates(), clock.wallMs()).sol, decimals: token.facts.token.decimals };
  };
  return {
    known: (mint) => {
      const token = book.warm(mint);
      return token === null ? null : worthOf(token);
    },
    read: async (mint) => {
      const found = await book.find(mint);
      return found.ok ? worthOf(found.token) : null;
    },
  };
}
