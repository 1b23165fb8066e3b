import { sluice } from '../app/server.ts';
import { Store } from '../parts/store.ts';

export interface TokenName {
  readonly symbol: string | null;
  readonly name: string | null;
}

/** Maximum number of names that are remembered, and that wait to be requested. Above these limits, the oldest is dropped. */
const maxNames = 2_000;
const maxWaiting = 40;
/** Between two requests, so that most of the key's limit is left. */
const pauseMs = 1_500;

/** Names of tokens by mint, from events and from requests. */
const names = new Map<string, TokenName>([
  ['So11111111111111111111111111111111111111112', { symbol: 'SOL', name: 'Wrapped SOL' }],
  ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', { symbol: 'USDC', name: 'USD Coin' }],
]);
const waiting = new Set<string>();
let timer: ReturnType<typeof setTimeout> | null = null;
/** Counts changes, so that lists are drawn again. */
export const namesVersion = new Store(0);

export function nameOf(mint: string): TokenName | null {
  return names.get(mint) ?? null;
}

export function learnName(mint: string, name: TokenName): void {
  names.delete(mint);
  names.set(mint, name);
  waiting.delete(mint);
  for (const oldest of names.keys()) {
    if (names.size <= maxNames) break;
    names.delete(oldest);
  }
  namesVersion.set(namesVersion.value + 1);
}

/** Requests the name of a token whose creation this page did not see. The newest requests come first. */
export function wantName(mint: string): void {
  if (names.has(mint) || waiting.has(mint)) return;
  waiting.add(mint);
  for (const oldest of waiting) {
    if (waiting.size <= maxWaiting) break;
    waiting.delete(oldest);
  }
  timer ??= setTimeout(() => void requestNext(), pauseMs);
}

async function requestNext(): Promise<void> {
  timer = null;
  const mint = [...waiting].at(-1);
  if (mint === undefined) return;
  waiting.delete(mint);
  if (!document.hidden) {
    try {
      const { symbol, name } = await sluice.tokenInfo(mint);
      learnName(mint, { symbol, name });
    } catch {
      // Remembered as unknown, so that it is not requested again and again.
      learnName(mint, { symbol: null, name: null });
    }
  }
  if (waiting.size > 0) timer = setTimeout(() => void requestNext(), pauseMs);
}

/** Tokens whose symbol or name contains the text, at most `limit`, newest first. */
export function findNames(text: string, limit: number): readonly (readonly [string, TokenName])[] {
  const part = text.toLowerCase();
  const found: (readonly [string, TokenName])[] = [];
  for (const [mint, name] of [...names].toReversed()) {
    if (`${name.symbol ?? ''} ${name.name ?? ''}`.toLowerCase().includes(part)) found.push([mint, name]);
    if (found.length >= limit) break;
  }
  return found;
}
