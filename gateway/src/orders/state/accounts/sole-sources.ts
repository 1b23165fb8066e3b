import { setTimeout as pause } from 'node:timers/promises';
import type { AccountsRead } from '../../../chain/account-reader.ts';

/** Reads in a row until two endpoints, which are not always at the same slot, tell the same; and the time between them. */
const maxAgreeing = 6;
const agreeingPauseMs = 40;
/** No other read begins after so long: somebody waits for the answer. */
const agreeingWithinMs = 500;

/** Of a read: the endpoint, as a bit by its number, that alone told it; 0 where two did, or there is but one. */
export function soleSourceOf({ aloneBy }: AccountsRead, endpoints: number): number {
  return aloneBy === null || endpoints === 1 ? 0 : 1 << aloneBy;
}

/** Reads again until two endpoints tell the same of `slot` or later; what was read last where they do not within a moment. Rejects as `read` does. */
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
