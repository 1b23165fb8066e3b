import { dropOldest } from '../bounded.ts';
import { Store } from '../store.ts';

/** Tokens whose newest market cap is remembered. Above it, the oldest is dropped. */
const maxCaps = 5_000;

interface Cap {
  readonly usd: number | null;
  readonly atUs: number;
  /** When it was read, by the steady clock, because the clock of the browser may differ from that of the gateway. Null: an event showed it. */
  readonly readAtMs: number | null;
}
const caps = new Map<string, Cap>();
/** Counts the market caps that were read for a list, so that it is drawn again. */
export const capsVersion = new Store(0);

/** The newest market cap that an event or an answer showed, in dollars. */
export function capOf(mint: string): number | null {
  return caps.get(mint)?.usd ?? null;
}

/** How long ago an answer showed the market cap, milliseconds; null if an event did. */
export function capAgeMs(mint: string): number | null {
  const readAtMs = caps.get(mint)?.readAtMs ?? null;
  return readAtMs === null ? null : performance.now() - readAtMs;
}

/** An event or an answer shows the market cap at a time, in microseconds. They do not come in one order. */
export function learnCap(mint: string, usd: number | null, atUs: number, readAtMs: number | null = null): void {
  if (atUs < (caps.get(mint)?.atUs ?? 0)) return;
  caps.delete(mint);
  caps.set(mint, { usd, atUs, readAtMs });
  dropOldest(caps, maxCaps);
}

export function forgetCaps(): void {
  caps.clear();
}
