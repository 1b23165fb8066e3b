import { countVotes, type Vote } from '@sluice/shared/solana/quorum/votes.ts';
import type { Evidence, OrderError } from '../model/life.ts';
import type { OrderFill, OpenOrder } from '../model/order.ts';
import { commitments, type Commitment, type SignatureStatus } from './signature-status.ts';

/** An order expires by the word of so many nodes at least; a single node must say it so many times. */
const leastExpired = 2;
/**
 * A node that said nothing for so long is silent: where it had a transaction counts no more, and it is not waited for. That by its own chain a
 * message can land no more still counts.
 */
const freshMs = 10_000;
/** Where no node has answered for so long, nobody knows. */
const silentAfterMs = 5_000;

/** What one node said last of one signature. */
export interface NodeView {
  readonly status: SignatureStatus | null;
  readonly contextSlot: number;
  readonly atMs: number;
  /** Answers in a row, history searched, that knew of nothing while by this node's own finalized chain it could land no more. */
  readonly absences: number;
  /** It has nothing, and might have nothing of what landed either: its history does not reach back so far. */
  readonly isForgotten: boolean;
}

/** Whether a node says something that it did not say before. */
export function tellsMore(before: NodeView | null, now: NodeView): boolean {
  if (before === null || before.absences !== now.absences || before.isForgotten !== now.isForgotten) return true;
  const [was, is] = [before.status, now.status];
  if (was === null || is === null) return was !== is;
  return was.slot !== is.slot || was.commitment !== is.commitment || (was.err === null) !== (is.err === null);
}

/** What was read out of the landed transaction. */
export interface LandedReading {
  readonly slot: number;
  readonly fill: OrderFill | null;
  readonly error: OrderError | null;
}

/** An open order and what is known of its one message. */
export interface TrackedOrder {
  /** As stored. */
  order: OpenOrder;
  readonly signature: string;
  /** Null where it was not told with the order and no node has told its height yet. */
  lastValidBlockHeight: number | null;
  readonly sinceMs: number;
  /** By the number of the node; null where it has not said anything. */
  readonly views: (NodeView | null)[];
  /** When our own stream last showed it (`performance.now()`). The stream is no evidence: the nodes are only asked at once. */
  hintedAtMs: number;
  reading: LandedReading | null;
}

/** Where the nodes agree that it is, and how they agree that it ended there: the runtime's error, or null. */
export interface Landing {
  readonly slot: number;
  readonly err: unknown;
}

/** What is to be done about a message. */
export interface Finding {
  readonly evidence: Evidence | null;
  /** `send`: nobody has it in a block. `rest`: it is in one. */
  readonly broadcast: 'send' | 'rest';
  /** The transaction is to be read: it is agreed to be confirmed there. */
  readonly read: Landing | null;
}

function isFresh(view: NodeView | null, nowMs: number): view is NodeView {
  return view !== null && nowMs - view.atMs <= freshMs;
}

/**
 * What more than half of the nodes say; where the others have been silent for ten seconds, what more than half of the rest say. Null where
 * that is not known yet, or they contradict each other. `says`: null where this node has no opinion; it may still come to one while it answers.
 */
function agreedOn<T>(
  { views, sinceMs }: TrackedOrder,
  says: (view: NodeView) => T | null,
  agree: (one: T, other: T) => boolean,
  nowMs: number,
): readonly Vote<T>[] | null {
  const votes: Vote<T>[] = [];
  let waiting = 0;
  for (const [endpoint, view] of views.entries()) {
    const value = view === null ? null : says(view);
    if (value !== null) votes.push({ endpoint, value });
    else if (isFresh(view, nowMs) || nowMs - sinceMs <= freshMs) waiting++;
  }
  const verdict = countVotes(votes, { endpoints: views.length, waiting }, agree);
  return verdict.kind === 'agreed' ? verdict.votes : null;
}

function isSameLanding(one: SignatureStatus, other: SignatureStatus): boolean {
  return one.slot === other.slot && (one.err === null) === (other.err === null);
}

/** Where the nodes agree that it is, among those that have it at this commitment or above. */
function agreedLanding(tracked: TrackedOrder, least: Commitment, nowMs: number): Landing | null {
  const has = (view: NodeView): SignatureStatus | null => {
    const { status } = view;
    return status !== null && isFresh(view, nowMs) && commitments.indexOf(status.commitment) >= commitments.indexOf(least) ? status : null;
  };
  return agreedOn(tracked, has, isSameLanding, nowMs)?.[0]?.value ?? null;
}

/** Slot that it landed in, or null if the nodes do not agree on one. */
export function landedSlotOf(tracked: TrackedOrder, nowMs: number): number | null {
  return tracked.reading?.slot ?? agreedLanding(tracked, 'processed', nowMs)?.slot ?? null;
}

function landed(tracked: TrackedOrder, nowMs: number): Finding {
  // One that lies about having it must not keep it from being sent.
  const broadcast = agreedLanding(tracked, 'processed', nowMs) === null ? 'send' : 'rest';
  const processed: Evidence = { kind: 'landed', commitment: 'processed', error: null, fill: null };
  const landing = agreedLanding(tracked, 'confirmed', nowMs);
  // One node's word alone is not reported: nothing of it may be true.
  if (landing === null) return { evidence: broadcast === 'rest' ? processed : null, broadcast, read: null };
  const { slot, err } = landing;
  const { reading } = tracked;
  if (reading === null || reading.slot !== slot || (reading.error === null) !== (err === null)) {
    // Whether it did what it should is not told before it is known; nor does an order end before its fill was looked for.
    const evidence: Evidence = err === null ? { ...processed, commitment: 'confirmed' } : processed;
    return { evidence, broadcast: 'rest', read: { slot, err } };
  }
  const commitment = agreedLanding(tracked, 'finalized', nowMs) === null ? 'confirmed' : 'finalized';
  return { evidence: { kind: 'landed', commitment, error: reading.error, fill: reading.fill }, broadcast: 'rest', read: null };
}

/** A node that has the message says the contrary; one that cannot say yet is waited for. */
function isExpired(tracked: TrackedOrder, nowMs: number): boolean {
  const { views } = tracked;
  if (views.length === 1) return (views[0]?.absences ?? 0) >= leastExpired;
  const says = (view: NodeView): boolean | null => (view.absences > 0 ? true : view.status !== null && isFresh(view, nowMs) ? false : null);
  const votes = agreedOn(tracked, says, (one, other) => one === other, nowMs);
  return votes?.[0]?.value === true && votes.length >= leastExpired;
}

/** What is known of an order's message, from what the nodes reported. Pure. */
export function findEvidence(tracked: TrackedOrder, nowMs: number): Finding {
  const fresh = tracked.views.filter((view) => isFresh(view, nowMs));
  const expired = isExpired(tracked, nowMs);
  // A sighting against the finalized chains of more nodes is a lie.
  if (!expired && fresh.some(({ status }) => status !== null)) return landed(tracked, nowMs);
  if (expired) return { evidence: { kind: 'expired' }, broadcast: 'rest', read: null };
  const { state } = tracked.order;
  const lastMs = Math.max(tracked.sinceMs, ...tracked.views.map((view) => view?.atMs ?? 0));
  const noneCanTell = fresh.length > 0 && fresh.every(({ isForgotten }) => isForgotten);
  const silent = nowMs - lastMs > silentAfterMs || noneCanTell;
  const evidence = silent ? 'silence' : fresh.length === 0 ? null : state === 'processed' ? 'gone' : 'pending';
  return { evidence: evidence === null ? null : { kind: evidence }, broadcast: 'send', read: null };
}
