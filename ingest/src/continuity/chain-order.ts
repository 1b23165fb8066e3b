import type { Listed } from '../sources/rpc/listing.ts';
import { Turns } from '@sluice/shared/runtime/clock/turns.ts';

/**
 * Merges several lists, each in chain order, into one in chain order without repeats. Within a slot the indexes in the block decide, if
 * they are known. Otherwise each list keeps its order, and transactions that are in several lists align them. Yields to the event loop.
 */
export async function inChainOrder(lists: readonly (readonly Listed[])[]): Promise<Listed[]> {
  const turns = new Turns();
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
      if (turns.isOver) await turns.pass();
    }
  }
  const ordered: Listed[] = [];
  for (const slot of [...bySlot.keys()].toSorted((a, b) => a - b)) {
    for (const item of oneSlot(bySlot.get(slot)!)) {
      ordered.push(item);
      if (turns.isOver) await turns.pass();
    }
  }
  return ordered;
}

function oneSlot(runs: readonly (readonly Listed[])[]): readonly Listed[] {
  if (runs.length === 1) return runs[0]!;
  if (runs.every((run) => run.every(({ index }) => index !== null))) {
    const bySignature = new Map(runs.flat().map((item) => [item.signature, item]));
    return [...bySignature.values()].toSorted((a, b) => a.index! - b.index!);
  }
  const merged: Listed[] = [];
  const taken = new Set<string>();
  const count = new Set(runs.flatMap((run) => run.map(({ signature }) => signature))).size;
  const cursors = runs.map(cursorOf);
  while (merged.length < count) {
    for (const cursor of cursors) skipTaken(cursor, taken);
    // The next item of a list that no other list has further back. If lists contradict each other, the first one wins.
    const left = cursors.filter(({ run, at }) => at < run.length);
    const { run, at } = left.find((cursor) => left.every((other) => isNext(other, cursor.run[cursor.at]!.signature))) ?? left[0]!;
    taken.add(run[at]!.signature);
    merged.push(run[at]!);
  }
  return merged;
}

/** A list, the read position, and the index of each signature. */
interface Cursor {
  readonly run: readonly Listed[];
  readonly places: ReadonlyMap<string, number>;
  at: number;
}

function cursorOf(run: readonly Listed[]): Cursor {
  // If a signature appears twice, the first one wins.
  return { run, places: new Map(run.map(({ signature }, index) => [signature, index] as const).toReversed()), at: 0 };
}

function skipTaken(cursor: Cursor, taken: ReadonlySet<string>): void {
  while (cursor.at < cursor.run.length && taken.has(cursor.run[cursor.at]!.signature)) cursor.at++;
}

/** True if the list does not have the signature, or has it next. */
function isNext({ places, at }: Cursor, signature: string): boolean {
  const place = places.get(signature);
  return place === undefined || place === at;
}
