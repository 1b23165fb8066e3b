import type { Evidence, OrderError } from '../life.ts';
import type { OrderFill, OpenOrder } from '../order.ts';
import { commitments, type Commitment, type SignatureStatus } from './signature-status.ts';

/** Nodes that must say the same before an order ends by it; where fewer are set, all of them. */
export const agreeing = 2;
/** What a node said longer ago than this counts no more; and a node that is silent for so long is not waited for to confirm what another saw. */
const freshMs = 10_000;
/** Where no node has answered for so long, nobody knows. */
const silentAfterMs = 5_000;
/** A transaction that our own stream told is looked for by nodes for so many slots before it counts as gone. */
const streamLeadSlots = 8;

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
  /** Slot that our own stream told it in; null where it did not, or the slot is gone. */
  streamSlot: number | null;
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

/** A view with what it shows. */
interface Sighting extends NodeView {
  readonly status: SignatureStatus;
}

function isFresh(view: NodeView | null, nowMs: number): view is NodeView {
  return view !== null && nowMs - view.atMs <= freshMs;
}

function rank(commitment: Commitment): number {
  return commitments.indexOf(commitment);
}

/** Those of the sightings that say the same of slot and outcome, the most; null where as many say otherwise. */
function mostAgreeing(sightings: readonly Sighting[]): readonly Sighting[] | null {
  const groups = new Map<string, Sighting[]>();
  for (const sighting of sightings) {
    const { slot, err } = sighting.status;
    const says = `${slot} ${err === null}`;
    const group = groups.get(says);
    if (group === undefined) groups.set(says, [sighting]);
    else group.push(sighting);
  }
  const [first, second] = [...groups.values()].sort((a, b) => b.length - a.length);
  return first === undefined || first.length === second?.length ? null : first;
}

/** The sightings of at least this commitment that agree, if they are enough. */
function agreed(tracked: TrackedOrder, sightings: readonly Sighting[], least: Commitment, nowMs: number): readonly Sighting[] | null {
  const { views, sinceMs } = tracked;
  const same = mostAgreeing(sightings.filter(({ status }) => rank(status.commitment) >= rank(least)));
  if (same === null) return null;
  if (same.length >= Math.min(agreeing, views.length)) return same;
  // The others say nothing at all: what is left of the nodes is believed, as one alone would be.
  const othersSilent = views.every((view) => !isFresh(view, nowMs) || same.some((sighting) => sighting === view));
  return othersSilent && nowMs - sinceMs > freshMs ? same : null;
}

function landed(tracked: TrackedOrder, sightings: readonly Sighting[], nowMs: number): Finding {
  // One that lies about having it must not keep it from being sent.
  const broadcast = tracked.streamSlot !== null || agreed(tracked, sightings, 'processed', nowMs) !== null ? 'rest' : 'send';
  const processed: Evidence = { kind: 'landed', commitment: 'processed', error: null, fill: null };
  const confirmed = agreed(tracked, sightings, 'confirmed', nowMs);
  const [first] = confirmed ?? [];
  // One node's word alone is not reported: nothing of it may be true.
  if (first === undefined) return { evidence: broadcast === 'rest' ? processed : null, broadcast, read: null };
  const { slot, err } = first.status;
  const { reading } = tracked;
  if (reading === null || reading.slot !== slot || (reading.error === null) !== (err === null)) {
    // Whether it did what it should is not told before it is known; nor does an order end before its fill was looked for.
    const evidence: Evidence = err === null ? { ...processed, commitment: 'confirmed' } : processed;
    return { evidence, broadcast: 'rest', read: { slot, err } };
  }
  const commitment = agreed(tracked, sightings, 'finalized', nowMs) === null ? 'confirmed' : 'finalized';
  return { evidence: { kind: 'landed', commitment, error: reading.error, fill: reading.fill }, broadcast: 'rest', read: null };
}

function isExpired({ views }: TrackedOrder): boolean {
  if (views.length === 1) return (views[0]?.absences ?? 0) >= agreeing;
  return views.filter((view) => view !== null && view.absences > 0).length >= agreeing;
}

/** Nodes that look further than our stream did, and have nothing: its slot is no part of the chain. */
function streamIsWrong({ views, streamSlot }: TrackedOrder, nowMs: number): boolean {
  if (streamSlot === null) return true;
  const beyond = views.filter((view) => isFresh(view, nowMs) && view.contextSlot >= streamSlot + streamLeadSlots);
  return beyond.length >= Math.min(agreeing, views.length);
}

/** What is known of an order's message, from what the nodes and our own stream said. Pure. */
export function findEvidence(tracked: TrackedOrder, nowMs: number): Finding {
  const fresh = tracked.views.filter((view) => isFresh(view, nowMs));
  const sightings = fresh.filter((view): view is Sighting => view.status !== null);
  // One sighting against the finalized chains of two others is a lie.
  const outweighed = sightings.length < agreeing && tracked.views.length > agreeing && isExpired(tracked);
  if (sightings.length > 0 && !outweighed) return landed(tracked, sightings, nowMs);
  if (!streamIsWrong(tracked, nowMs)) {
    const evidence: Evidence = { kind: 'landed', commitment: 'processed', error: null, fill: null };
    return { evidence, broadcast: 'rest', read: null };
  }
  if (isExpired(tracked)) return { evidence: { kind: 'expired' }, broadcast: 'rest', read: null };
  const { state } = tracked.order;
  const lastMs = Math.max(tracked.sinceMs, ...tracked.views.map((view) => view?.atMs ?? 0));
  const noneCanTell = fresh.length > 0 && fresh.every(({ isForgotten }) => isForgotten);
  const silent = nowMs - lastMs > silentAfterMs || noneCanTell;
  const evidence = silent ? 'silence' : fresh.length === 0 ? null : state === 'processed' ? 'gone' : 'pending';
  return { evidence: evidence === null ? null : { kind: evidence }, broadcast: 'send', read: null };
}
