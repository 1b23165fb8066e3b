import { Store } from '../state/store.ts';

/** Tokens whose newest market cap is remembered. Above it, the oldest is dropped. */
const maxCaps = 5_000;

/** A market cap of this age is not read again, milliseconds. */
const freshMs = 5_000;

interface Cap {
  readonly usd: number | null;
  readonly atUs: number;
  /** When it was learned. By the steady clock, because the clock of the browser may differ from that of the gateway. */
  readonly learnedAtMs: number;
}
const caps = new Map<string, Cap>();
/** Counts the market caps that were read for a list, so that it is drawn again. */
export const capsVersion = new Store(0);

/** The newest market cap that an event or an answer showed, in dollars. */
export function capOf(mint: string): number | null {
  return caps.get(mint)?.usd ?? null;
}

export function isCapFresh(mint: string): boolean {
  const cap = caps.get(mint);
  return cap !== undefined && performance.now() - cap.learnedAtMs < freshMs;
}

/** An event or an answer shows the market cap at a time, in microseconds. They do not come in one order. */
export function learnCap(mint: string, usd: number | null, atUs: number): void {
  if (atUs < (caps.get(mint)?.atUs ?? 0)) return;
  caps.delete(mint);
  caps.set(mint, { usd, atUs, learnedAtMs: performance.now() });
  if (caps.size > maxCaps) for (const oldest of caps.keys()) if (caps.delete(oldest)) break;
}

export function forgetCaps(): void {
  caps.clear();
}
