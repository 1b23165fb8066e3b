import type { Migration, NewToken, Trade } from '@sluice/client';
import { capOf } from './feed.ts';
import { nameOf } from './names.ts';

/** What the lists show. Empty texts filter nothing. */
export interface LiveFilters {
  readonly venue: string;
  /** Part of the symbol or name of the token, or of its mint. */
  readonly token: string;
  /** Creator of new tokens, or trader: part of the address. */
  readonly wallet: string;
  /** SOL of a trade, or of the first buy. */
  readonly minSol: string;
  readonly minCapUsd: string;
  readonly maxCapUsd: string;
  readonly side: '' | 'buy' | 'sell';
}

export const noFilters: LiveFilters = { venue: '', token: '', wallet: '', minSol: '', minCapUsd: '', maxCapUsd: '', side: '' };

/** `1.5`, `20k`, `3M`; null if the text is no number. */
function amountOf(text: string): number | null {
  const [, digits, unit] = /^\s*\$?(\d+(?:\.\d+)?)\s*([kmb]?)\s*$/i.exec(text.replaceAll(',', '')) ?? [];
  if (digits === undefined) return null;
  return Number(digits) * { '': 1, k: 1e3, m: 1e6, b: 1e9 }[(unit ?? '').toLowerCase() as '' | 'k' | 'm' | 'b'];
}

function passesCap(cap: number | null, { minCapUsd, maxCapUsd }: LiveFilters): boolean {
  const [min, max] = [amountOf(minCapUsd), amountOf(maxCapUsd)];
  if (min === null && max === null) return true;
  return cap !== null && cap >= (min ?? 0) && cap <= (max ?? Number.POSITIVE_INFINITY);
}

function passesSize(sol: number | null, { minSol }: LiveFilters): boolean {
  const min = amountOf(minSol);
  return min === null || (sol !== null && sol >= min);
}

const passesVenue = (pool: string, { venue }: LiveFilters): boolean => venue === '' || pool === venue;
function passesToken(mint: string, { token }: LiveFilters): boolean {
  const part = token.trim().toLowerCase();
  if (part === '' || mint.toLowerCase().includes(part)) return true;
  const name = nameOf(mint);
  return `${name?.symbol ?? ''} ${name?.name ?? ''}`.toLowerCase().includes(part);
}
const passesWallet = (address: string, { wallet }: LiveFilters): boolean => wallet === '' || address.includes(wallet.trim());

export function passesNewToken(token: NewToken, filters: LiveFilters): boolean {
  const cap = capOf(token.mint)?.usd ?? token.marketCapUsd;
  return (
    passesVenue(token.pool, filters) &&
    passesToken(token.mint, filters) &&
    passesWallet(token.creator, filters) &&
    passesSize(token.initialBuy?.solAmount ?? null, filters) &&
    passesCap(cap, filters)
  );
}

export function passesTrade(trade: Trade, filters: LiveFilters): boolean {
  return (
    passesVenue(trade.pool, filters) &&
    passesToken(trade.mint, filters) &&
    passesWallet(trade.trader, filters) &&
    passesSize(trade.solAmount, filters) &&
    passesCap(trade.marketCapUsd, filters) &&
    (filters.side === '' || trade.side === filters.side)
  );
}

export function passesMigration(migration: Migration, filters: LiveFilters): boolean {
  return (
    passesVenue(migration.pool, filters) &&
    passesToken(migration.mint, filters) &&
    passesSize(migration.solAmount, filters) &&
    passesCap(migration.marketCapUsd, filters)
  );
}
