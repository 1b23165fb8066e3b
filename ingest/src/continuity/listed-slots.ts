import { majorityOf } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { Listing } from './listing.ts';

/** Nodes record the transactions of a slot some time after they confirm it. Newer slots are compared by the next lists. */
const recordedAfterSlots = 8;

/**
 * The transactions of some slots that a majority of the endpoints lists, for the slots that a majority covers. `all`: the lists of each endpoint, one for
 * each program.
 */
export function listedSlots(all: readonly (readonly Listing[])[], slots: readonly number[]): ReadonlyMap<number, ReadonlySet<string>> {
  const enough = majorityOf(all.length);
  const found = new Map<number, Set<string>>();
  for (const slot of slots) {
    const covering = all.filter((lists) => lists.every(({ from, tip }) => from <= slot && slot <= tip - recordedAfterSlots));
    if (covering.length < enough) continue;
    const votes = new Map<string, number>();
    for (const lists of covering) {
      const listed = new Set(lists.flatMap(({ items }) => items.filter((item) => item.slot === slot).map(({ signature }) => signature)));
      for (const signature of listed) votes.set(signature, (votes.get(signature) ?? 0) + 1);
    }
    found.set(slot, new Set([...votes].flatMap(([signature, count]) => (count >= enough ? [signature] : []))));
  }
  return found;
}
