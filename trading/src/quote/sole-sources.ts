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

/**
 * Reads until two endpoints report the same state of `slot` or a later one. After 500 ms or six reads it returns the last state that was read.
 * Rejects like `read`.
 */
export async function readUntilAgreed<T extends { readonly slot: number; readonly soleSources: number }>(
  read: () => Promise<T>,
  slot: number,
): Promise<T> {
  const endMs = performance.now() + agreeingWithinMs;
  for (let left = maxAgreeing; ; left--) {
    const found = await read();
    if ((found.soleSources === 0 && found.slot >= slot) || left <= 1 || performance.now() >= endMs) return found;
    await pause(agreeingPauseMs);
  }
}
