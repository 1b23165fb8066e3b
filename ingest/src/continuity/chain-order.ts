import type { Listed } from './listing.ts';

/**
 * Several lists, each in chain order, as one in chain order without repeats. Within a slot the places in the block decide where they are
 * known; where not, each list keeps its order, and a transaction that stands in several lists divides them all alike. Pure.
 */
export function inChainOrder(lists: readonly (readonly Listed[])[]): Listed[] {
  const bySlot = new Map<number, Listed[][]>();
  for (const list of lists) {
    let run: Listed[] = [];
    let slot = -1;
    for (const item of list) {
      if (item.slot !== slot) {
        slot = item.slot;
        run = [];
        const runs = bySlot.get(slot);
        if (runs === undefined) bySlot.set(slot, [run]);
        else runs.push(run);
      }
      run.push(item);
    }
  }
  return [...bySlot.keys()].toSorted((a, b) => a - b).flatMap((slot) => oneSlot(bySlot.get(slot)!));
}

function oneSlot(runs: readonly (readonly Listed[])[]): readonly Listed[] {
  if (runs.length === 1) return runs[0]!;
  if (runs.every((run) => run.every(({ index }) => index !== null))) {
    const bySignature = new Map(runs.flat().map((item) => [item.signature, item]));
    return [...bySignature.values()].toSorted((a, b) => a.index! - b.index!);
  }
  const merged: Listed[] = [];
  const taken = new Set<string>();
  const waiting = new Map<string, number>();
  for (const run of runs) for (const { signature } of run) waiting.set(signature, (waiting.get(signature) ?? 0) + 1);
  const at = runs.map(() => 0);
  const count = waiting.size;
  while (merged.length < count) {
    // The next of a list that no other list still has before it; lists that contradict each other yield to the first.
    const ready = runs.findIndex((run, which) => {
      while (at[which]! < run.length && taken.has(run[at[which]!]!.signature)) at[which]!++;
      const item = run[at[which]!];
      return item !== undefined && runs.every((other, index) => index === which || isNext(other, at[index]!, item.signature, taken));
    });
    const which = ready === -1 ? runs.findIndex((run, index) => at[index]! < run.length) : ready;
    const item = runs[which]![at[which]!]!;
    at[which]!++;
    if (taken.has(item.signature)) continue;
    taken.add(item.signature);
    merged.push(item);
  }
  return merged;
}

/** True where the list does not have the signature any more, or has it next. */
function isNext(run: readonly Listed[], from: number, signature: string, taken: ReadonlySet<string>): boolean {
  let at = from;
  while (at < run.length && taken.has(run[at]!.signature)) at++;
  const found = run.findIndex((item, index) => index >= at && item.signature === signature);
  return found === -1 || found === at;
}
