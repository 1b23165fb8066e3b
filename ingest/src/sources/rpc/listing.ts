import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import { majorityOf } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';

/** Signatures of one page; nodes return no more. */
const pageSize = 1_000;
/**
 * Pages of one program in one round: 300,000 transactions, more than ten minutes of the busiest program. Older ones are reported as a gap.
 */
const maxPages = 300;
/** How often a node is asked again if it returns nothing where something must exist. */
const maxAttempts = 3;
const attemptPauseMs = 300;

/** Nodes record the transactions of a slot some time after they confirm it. Newer slots are compared by the next lists. */
const recordedAfterSlots = 8;

const signatureForm = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

/** No endpoint answers. The round is repeated later. */
export class Unreachable extends Error {}

/** A successful transaction of a program. */
export interface Listed {
  readonly signature: string;
  readonly slot: number;
  /** Its index in the block; null if the node does not report it. */
  readonly index: number | null;
}

/** Confirmed transactions of one program by one node, in chain order: all from slot `from` to slot `tip`. */
export interface Listing {
  readonly from: number;
  readonly tip: number;
  readonly items: readonly Listed[];
}

interface Row extends Listed {
  readonly failed: boolean;
}

/** The answers of the endpoints that answer. `fault` is why the first of the others did not. */
export async function answersOf<T>(
  rpcs: readonly Rpc[],
  ask: (rpc: Rpc) => Promise<T>,
): Promise<{ readonly values: T[]; readonly fault: unknown }> {
  const outcomes = await Promise.allSettled(rpcs.map(ask));
  const values = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  return { values, fault: outcomes.find((outcome) => outcome.status === 'rejected')?.reason };
}

/** The newest slot that a node has confirmed. */
export async function confirmedSlot(rpc: Rpc, signal: AbortSignal): Promise<number> {
  const slot = await rpc.call('getSlot', [{ commitment: 'confirmed' }], signal);
  if (!isSlot(slot)) throw new TypeError('getSlot gave no slot');
  return slot;
}

/** One endpoint, asked for the transactions of one program up to the confirmed slot `tip`. */
interface Query {
  readonly rpc: Rpc;
  readonly program: string;
  readonly tip: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Lists by `getSignaturesForAddress`, newest first, back to the slot `floor`. It never uses `until`: a node that does not know that
 * signature returns its newest ones instead. An empty page alone is not the end either: a node that does not know `before` returns one too.
 * Throws if the node does not answer, or not in the documented form.
 */
export async function listProgram(query: Query, floor: number): Promise<Listing> {
  const { rpc, tip, signal } = query;
  const newestFirst: Listed[] = [];
  let previous: Row | null = null;
  let last: Row | null = null;
  for (let page = 0; page < maxPages; page++) {
    const rows = await readPage(query, last);
    if (rows.length === 0) {
      const end = await isEnd(query, previous, last);
      const firstStored = end ? await firstAvailable(rpc, signal) : (last?.slot ?? tip) + 1;
      return listing(newestFirst, Math.max(floor, firstStored), tip);
    }
    for (const row of rows) if (!row.failed) newestFirst.push(row);
    previous = rows.at(-2) ?? last;
    last = rows.at(-1)!;
    if (last.slot < floor) return listing(newestFirst, floor, tip);
  }
  return listing(newestFirst, (last?.slot ?? tip) + 1, tip);
}

/** The rows from `from` on, in chain order. */
function listing(newestFirst: Listed[], from: number, tip: number): Listing {
  while (newestFirst.length > 0 && newestFirst.at(-1)!.slot < from) newestFirst.pop();
  return { from, tip, items: newestFirst.toReversed() };
}

/** Rows older than `before`; the newest ones if it is null. */
async function readPage({ rpc, program, tip, signal }: Query, before: Row | null): Promise<Row[]> {
  const options = {
    limit: pageSize,
    commitment: 'confirmed',
    minContextSlot: tip,
    ...(before === null ? {} : { before: before.signature }),
  };
  const answer = await rpc.call('getSignaturesForAddress', [program, options], signal);
  if (!Array.isArray(answer)) throw new TypeError('getSignaturesForAddress gave no list');
  return answer.map(readRow);
}

function readRow(value: unknown): Row {
  if (!isRecord(value) || typeof value['signature'] !== 'string' || !signatureForm.test(value['signature']) || !isSlot(value['slot'])) {
    throw new TypeError('getSignaturesForAddress gave something else than signatures');
  }
  const { signature, slot, err, transactionIndex } = value;
  const failed = err !== null && err !== undefined;
  return { signature, slot, failed, index: typeof transactionIndex === 'number' ? transactionIndex : null };
}

/** Whether the history ends at the row `last`: the node still knows that row if it is asked from the row before it. */
async function isEnd(query: Query, previous: Row | null, last: Row | null): Promise<boolean> {
  if (last === null) return true;
  if (previous === null) return (await readPage(query, null)).length > 0;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const again = await readPage(query, previous);
    if (again.length > 1) return false;
    if (again.length === 1) return true;
    await pause(attemptPauseMs, query.signal, { ref: false, clock: query.clock });
    query.signal.throwIfAborted();
  }
  return false;
}

/** The oldest block that a node has. */
async function firstAvailable(rpc: Rpc, signal: AbortSignal): Promise<number> {
  const slot = await rpc.call('getFirstAvailableBlock', [], signal);
  if (!isSlot(slot)) throw new TypeError('getFirstAvailableBlock gave no slot');
  return slot;
}

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
