import { countVotes, type Vote } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { Evidence, OrderError } from '@sluice/gateway/store/order-model/life.ts';
import type { OrderFill, OrderTerms, OpenOrder } from '@sluice/gateway/store/order-model/order.ts';
import { commitments, type Commitment } from '@sluice/shared/wire/events/events.ts';
import type { SignatureStatus } from './signature-status.ts';

/** An order expires if at least this many nodes report it. A single node must report it this many times. */
const leastExpired = 2;
/** The statuses of a node that has not answered for this long are ignored. Its report that a message cannot land any more is still used. */
const freshMs = 10_000;
/** If no node has answered for this long, the evidence is silence. */
const silentAfterMs = 5_000;

/** The last report of one node about one signature. */
export interface NodeView {
  readonly status: SignatureStatus | null;
  readonly contextSlot: number;
  readonly atMs: number;
  /** Answers in a row, with the history searched, in which the transaction was missing and could not land any more on this node's finalized chain. */
  readonly absences: number;
  /** The node has no status, but its history may not reach back far enough to have one. */
  readonly isForgotten: boolean;
}

/** Whether a view differs from the previous one in a way that can change the evidence. */
export function isNewView(before: NodeView | null, now: NodeView): boolean {
  if (before === null || before.absences !== now.absences || before.isForgotten !== now.isForgotten) return true;
  const [was, is] = [before.status, now.status];
  if (was === null || is === null) return was !== is;
  return was.slot !== is.slot || was.commitment !== is.commitment || (was.err === null) !== (is.err === null);
}

/** The result that was read from the landed transaction. */
export interface LandedReading {
  readonly slot: number;
  readonly fill: OrderFill | null;
  /** The order's, or read together with the fill. */
  readonly terms: OrderTerms | null;
  readonly error: OrderError | null;
}

/** An open order and what is known about its message. */
export interface TrackedOrder {
  /** The order as it is stored. */
  order: OpenOrder;
  readonly signature: string;
  /** Null if the order does not contain it, and too few nodes have reported their heights to bound it. */
  lastValidBlockHeight: number | null;
  /** Since when it is followed, on the steady clock. */
  readonly sinceMs: number;
  /** By node; null if the node has reported nothing. */
  readonly views: (NodeView | null)[];
  /** When our own stream last showed it, on the steady clock. That is no evidence; it only makes the poller ask at once. */
  seenAtMs: number;
  reading: LandedReading | null;
}

/** The slot in which the nodes agree that a transaction landed, and the runtime's error or null. */
export interface Landing {
  readonly slot: number;
  readonly err: unknown;
}

/** What is known about an order, and what to do with its message. */
export interface OrderFinding {
  readonly evidence: Evidence | null;
  /** `send`: send it again, because it is in no block. `rest`: do not send it. */
  readonly broadcast: 'send' | 'rest';
  /** The landing to read, once the nodes agree that it is confirmed; null if there is none or it was read. */
  readonly read: Landing | null;
}

function isFresh(view: NodeView | null, nowMs: number): view is NodeView {
  return view !== null && nowMs - view.atMs <= freshMs;
}

/**
 * The votes of the majority of the nodes. Nodes that have been silent for ten seconds have no vote. Null if there is no majority yet, or the nodes
 * contradict each other. `says` returns the opinion of a node, or null if it has none; a node that answers may still form one.
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

/** The landing that the nodes agree on, among those that have it at this commitment or a higher one. */
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

function landed(tracked: TrackedOrder, nowMs: number): OrderFinding {
  // A single lying node must not stop the sending, so the nodes have to agree.
  const broadcast = agreedLanding(tracked, 'processed', nowMs) === null ? 'send' : 'rest';
  const processed: Evidence = { kind: 'landed', commitment: 'processed', error: null, fill: null };
  const landing = agreedLanding(tracked, 'confirmed', nowMs);
  // A status that only one node reports is not published, because it may be false.
  if (landing === null) return { evidence: broadcast === 'rest' ? processed : null, broadcast, read: null };
  const { slot, err } = landing;
  const { reading } = tracked;
  if (reading === null || reading.slot !== slot || (reading.error === null) !== (err === null)) {
    // The transaction was not read yet. Until then an error is not published, and the order does not end.
    const evidence: Evidence = err === null ? { ...processed, commitment: 'confirmed' } : processed;
    return { evidence, broadcast: 'rest', read: { slot, err } };
  }
  const commitment = agreedLanding(tracked, 'finalized', nowMs) === null ? 'confirmed' : 'finalized';
  return {
    evidence: { kind: 'landed', commitment, error: reading.error, fill: reading.fill, terms: reading.terms },
    broadcast: 'rest',
    read: null,
  };
}

/** A node that has the transaction votes against expiry. A node without an opinion is waited for. */
function isExpired(tracked: TrackedOrder, nowMs: number): boolean {
  const { views } = tracked;
  if (views.length === 1) return (views[0]?.absences ?? 0) >= leastExpired;
  const says = (view: NodeView): boolean | null => (view.absences > 0 ? true : view.status !== null && isFresh(view, nowMs) ? false : null);
  const votes = agreedOn(tracked, says, (one, other) => one === other, nowMs);
  return votes?.[0]?.value === true && votes.length >= leastExpired;
}

/** What the reports of the nodes say about an order's message. Uses no I/O and no clock. */
export function findEvidence(tracked: TrackedOrder, nowMs: number): OrderFinding {
  const fresh = tracked.views.filter((view) => isFresh(view, nowMs));
  const expired = isExpired(tracked, nowMs);
  // A status that contradicts the finalized chains of a majority is false.
  if (!expired && fresh.some(({ status }) => status !== null)) return landed(tracked, nowMs);
  if (expired) return { evidence: { kind: 'expired' }, broadcast: 'rest', read: null };
  const { state } = tracked.order;
  const lastMs = Math.max(tracked.sinceMs, ...tracked.views.map((view) => view?.atMs ?? 0));
  const noneCanKnow = fresh.length > 0 && fresh.every(({ isForgotten }) => isForgotten);
  const silent = nowMs - lastMs > silentAfterMs || noneCanKnow;
  const evidence = silent ? 'silence' : fresh.length === 0 ? null : state === 'processed' ? 'gone' : 'pending';
  return { evidence: evidence === null ? null : { kind: evidence }, broadcast: 'send', read: null };
}
