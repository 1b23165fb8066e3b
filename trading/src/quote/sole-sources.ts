import { setTimeout as pause } from 'node:timers/promises';
import type { AccountsRead } from '@sluice/gateway/reads/chain/account-reader.ts';

/** Most reads in a row until two endpoints agree, and the pause between them. Endpoints are not always at the same slot. */
const maxAgreeing = 6;
const agreeingPauseMs = 40;
/** No further read begins after this long, because a request waits for the result. */
const agreeingWithinMs = 500;

/** Bit mask of the endpoint that alone reported a read. 0 if two reported it, or only one is configured. */
export function soleSourceOf({ aloneBy }: AccountsRead, endpoints: number): number {
  return aloneBy === null || endpoints === 1 ? 0 : 1 << aloneBy;
}

/** Endpoints that were asked report different states, and no two the same; or another one may still, because it is only late. */
export function isDisputed({ disputed, othersAreLate }: AccountsRead): boolean {
  return disputed.length > 0 || othersAreLate;
}

/** Reads until two endpoints report the same state of `slot` or later; after 500 ms or six reads, returns the last one. Rejects like `read`. */
export function readUntilAgreed<T extends { readonly slot: number; readonly soleSources: number }>(
  read: () => Promise<T>,
  slot: number,
): Promise<T> {
  const terms = { endMs: performance.now() + agreeingWithinMs, pauseMs: agreeingPauseMs, most: maxAgreeing };
  return readUntil(read, (found) => found.soleSources === 0 && found.slot >= slot, terms);
}

/** Reads until a result is enough. Returns the last result at `endMs` (`performance.now`), or after `most` reads. Rejects like `read`. */
export async function readUntil<T>(
  read: () => T | Promise<T>,
  isEnough: (found: T) => boolean,
  { endMs, pauseMs, most = Infinity }: { readonly endMs: number; readonly pauseMs: number; readonly most?: number },
): Promise<T> {
  for (let reads = 1; ; reads++) {
    const found = await read();
    if (isEnough(found) || reads >= most || performance.now() >= endMs) return found;
    await pause(pauseMs);
  }
}
