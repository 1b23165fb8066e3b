import type { Migration, NewToken, Trade } from '@sluice/client';
import type { PoolEvent } from '../parts/pool-table.tsx';
import type { TokenName } from '../state/metadata/names.ts';

export type LiveEvent = NewToken | Trade | PoolEvent | Migration;

/** What the lists show. Empty texts filter nothing. */
export interface LiveFilters {
  readonly venue: string;
  /** Part of the symbol or name of the token, or of its mint. */
  readonly token: string;
  /** Part of the address of the token's creator. */
  readonly creator: string;
  /** Part of the address of the trader. Filters trades only. */
  readonly trader: string;
  /** SOL of a trade, or of the first buy. */
  readonly minSol: string;
  readonly minCapUsd: string;
  readonly maxCapUsd: string;
  readonly side: '' | 'buy' | 'sell';
}

/** What the page knows of a token from other events. */
export interface Known {
  nameOf(mint: string): TokenName | null;
  /** The newest market cap, in dollars. */
  capOf(mint: string): number | null;
}

export const noFilters: LiveFilters = { venue: '', token: '', creator: '', trader: '', minSol: '', minCapUsd: '', maxCapUsd: '', side: '' };

/** `1.5`, `20k`, `3M`, `1,000`; null if the text is no number. A comma separates thousands only. */
function amountOf(text: string): number | null {
  const [, digits, unit] = /^\s*\$?((?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?)\s*([kmb]?)\s*$/i.exec(text) ?? [];
  if (digits === undefined) return null;
  return Number(digits.replaceAll(',', '')) * { '': 1, k: 1e3, m: 1e6, b: 1e9 }[(unit ?? '').toLowerCase() as '' | 'k' | 'm' | 'b'];
}

/** Whether a field for a number contains something else. Such a filter hides nothing. */
export const isNoAmount = (text: string): boolean => text.trim() !== '' && amountOf(text) === null;

function passesCap(cap: number | null, { minCapUsd, maxCapUsd }: LiveFilters): boolean {
  const [min, max] = [amountOf(minCapUsd), amountOf(maxCapUsd)];
  if (min === null && max === null) return true;
  return cap !== null && cap >= (min ?? 0) && cap <= (max ?? Number.POSITIVE_INFINITY);
}

function passesSize(sol: number | null, { minSol }: LiveFilters): boolean {
  const min = amountOf(minSol);
  return min === null || (sol !== null && sol >= min);
}

function passesToken(mint: string, { token }: LiveFilters, known: Known): boolean {
  const part = token.trim().toLowerCase();
  if (part === '' || mint.toLowerCase().includes(part)) return true;
  const name = known.nameOf(mint);
  return `${name?.symbol ?? ''} ${name?.name ?? ''}`.toLowerCase().includes(part);
}

/** An unknown address passes no filter. */
const passesAddress = (address: string | null | undefined, part: string): boolean => address?.includes(part.trim()) ?? part.trim() === '';

export function passes(event: LiveEvent, filters: LiveFilters, known: Known): boolean {
  const { mint, pool, marketCapUsd } = event;
  const [creator, sol, cap] =
    'initialBuy' in event
      ? [event.creator, event.initialBuy?.solAmount ?? null, known.capOf(mint)]
      : [known.nameOf(mint)?.creator, event.solAmount, null];
  return (
    (filters.venue === '' || pool === filters.venue) &&
    passesToken(mint, filters, known) &&
    passesAddress(creator, filters.creator) &&
    passesSize(sol, filters) &&
    passesCap(cap ?? marketCapUsd, filters) &&
    (!('trader' in event) || passesAddress(event.trader, filters.trader)) &&
    (!('side' in event) || filters.side === '' || event.side === filters.side)
  );
}
