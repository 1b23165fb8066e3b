import type { OrderChange, SignedMessage } from '../store/order-table.ts';
import { endStates, type OrderFill, type OrderKind, type OrderState, type StoredOrder } from './order.ts';

/** Where an order stands, as far as its life goes. */
export type OrderStanding = Pick<StoredOrder, 'kind' | 'state' | 'signature' | 'fill'>;

export type OrderError = NonNullable<StoredOrder['error']>;

/** What was found out about an order. */
export type Evidence =
  /** It was signed: the one message that may ever be sent for it. */
  | { readonly kind: 'signed'; readonly message: SignedMessage }
  /** The signed bytes passed a simulation. */
  | { readonly kind: 'simulated' }
  /** Nothing was sent and nothing will be: the simulation, the signer or a check refused it. */
  | { readonly kind: 'refused'; readonly error: OrderError }
  /**
   * About to be sent for the first time: stored before the first byte leaves, so that an order in an earlier state never was. Only
   * an order that is `submitted` by it may be sent: another gateway may have ended it meanwhile.
   */
  | { readonly kind: 'sending' }
  /** A node, or our own stream, has it in a block. */
  | {
      readonly kind: 'landed';
      readonly commitment: 'processed' | 'confirmed' | 'finalized';
      /** Why it failed there; null where it did what it should. */
      readonly error: OrderError | null;
      /** What it did; null where the transaction was not read yet. */
      readonly fill: OrderFill | null;
    }
  /** It had been seen in a block that is no part of the chain any more. */
  | { readonly kind: 'gone' }
  /** Nobody answers who could tell. */
  | { readonly kind: 'silence' }
  /** Nodes answer again and have not seen it; it can still land. */
  | { readonly kind: 'pending' }
  /** It can land no more: the finalized height is past its last block, and its history has nothing. */
  | { readonly kind: 'expired' }
  /** Filled against live state without being sent. */
  | { readonly kind: 'paper'; readonly fill: OrderFill };

/**
 * `nothing`: known already, or less than what is known. `contradiction`: it cannot be true beside what is stored; nothing is changed,
 * and somebody should look.
 */
export type Verdict =
  | { readonly kind: 'change'; readonly change: OrderChange }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'contradiction' };

const followers: Readonly<Record<OrderState, readonly OrderState[]>> = {
  // Whoever holds the signed bytes may send them: it may land wherever the order stands.
  accepted: ['simulated', 'submitted', 'processed', 'confirmed', 'finalized', 'failed'],
  simulated: ['submitted', 'processed', 'confirmed', 'finalized', 'failed'],
  submitted: ['processed', 'confirmed', 'finalized', 'failed', 'expired', 'unknown'],
  // A block may leave the chain again until it is confirmed: what is true then is that nobody knows.
  processed: ['confirmed', 'finalized', 'failed', 'expired', 'unknown'],
  unknown: ['submitted', 'processed', 'confirmed', 'finalized', 'failed', 'expired'],
  // Votes of two thirds of the stake were for it; what takes it back can only be the finalized chain itself.
  confirmed: ['finalized', 'failed', 'expired'],
  finalized: [],
  failed: [],
  expired: [],
};

/** Whether an order in the state `from` may next be in `to`. A paper order is never sent: it is accepted, then filled or refused. */
export function mayFollow(kind: OrderKind, from: OrderState, to: OrderState): boolean {
  if (kind === 'paper') return from === 'accepted' && (to === 'finalized' || to === 'failed');
  return followers[from].includes(to);
}

/** Whether an order may be stored for the first time in this state. `submitted`: stored just before its first byte leaves. */
export function mayBegin({ kind, state, signature }: OrderStanding): boolean {
  if (kind === 'paper') return state === 'accepted' || state === 'finalized' || state === 'failed';
  return state === 'accepted' || state === 'simulated' || (state === 'submitted' && signature !== null);
}

/** Not sent yet, nor refused: whoever asks again with the same key is told to wait. */
export function isUnderWay(state: OrderState): boolean {
  return state === 'accepted' || state === 'simulated';
}

const change = (what: OrderChange): Verdict => ({ kind: 'change', change: what });
const nothing: Verdict = { kind: 'nothing' };
const contradiction: Verdict = { kind: 'contradiction' };

/** What an order becomes by what was found out. Never backwards, and nothing follows an end. */
export function judge(order: OrderStanding, evidence: Evidence): Verdict {
  const { kind, state } = order;
  if (endStates.has(state)) return judgeEnded(order, evidence);
  const to = (next: OrderState, more: OrderChange = {}): Verdict =>
    mayFollow(kind, state, next) ? change({ ...more, state: next }) : contradiction;
  switch (evidence.kind) {
    case 'signed':
      if (order.signature !== null) return order.signature === evidence.message.signature ? nothing : contradiction;
      return isUnderWay(state) && kind !== 'paper' ? change({ signed: evidence.message }) : contradiction;
    case 'simulated':
      return state === 'accepted' ? to('simulated') : nothing;
    case 'refused':
      return isUnderWay(state) ? to('failed', { error: evidence.error }) : contradiction;
    case 'sending':
      if (order.signature === null) return contradiction;
      return isUnderWay(state) ? to('submitted') : nothing;
    case 'landed':
      return judgeLanded(order, evidence);
    case 'gone':
    case 'silence':
      if (isUnderWay(state)) return evidence.kind === 'gone' ? contradiction : nothing;
      // That nobody answers takes nothing back; that the block is gone does, until it is confirmed.
      if (state === 'submitted' || (state === 'processed' && evidence.kind === 'gone')) return to('unknown');
      return nothing;
    case 'pending':
      return state === 'unknown' ? to('submitted') : nothing;
    case 'expired':
      return isUnderWay(state) && order.signature === null ? contradiction : expire(order);
    case 'paper':
      return kind === 'paper' ? to('finalized', { fill: evidence.fill }) : contradiction;
  }
}

/** A message that was never sent cannot land either once it is too old: then it has failed to be sent in time. */
function expire({ state }: OrderStanding): Verdict {
  if (!isUnderWay(state)) return change({ state: 'expired' });
  const message = 'The transaction could not be sent before its blockhash was too old.';
  return change({ state: 'failed', error: { code: 'UPSTREAM_UNAVAILABLE', message, detailsJson: '{}' } });
}

function judgeLanded(order: OrderStanding, { commitment, error, fill }: Extract<Evidence, { kind: 'landed' }>): Verdict {
  const { state, kind } = order;
  if (order.signature === null || kind === 'paper') return contradiction;
  const read: OrderChange = fill === null ? {} : { fill };
  // On another fork the same transaction may do something else: only what is confirmed ends an order.
  const next: OrderState = error !== null && commitment !== 'processed' ? 'failed' : commitment;
  const more: OrderChange = next === 'failed' && error !== null ? { ...read, error } : read;
  if (mayFollow(kind, state, next)) return change({ ...more, state: next });
  // Told again, or late: worth something only where it says what was done.
  return next === state && fill !== null && order.fill === null ? change(read) : nothing;
}

function judgeEnded({ state, fill, kind }: OrderStanding, evidence: Evidence): Verdict {
  if (evidence.kind === 'landed') {
    if (state === 'expired') return contradiction;
    if (state === 'finalized') {
      if (evidence.error !== null && evidence.commitment === 'finalized') return contradiction;
      return fill === null && evidence.fill !== null && kind !== 'paper' ? change({ fill: evidence.fill }) : nothing;
    }
    return evidence.error === null && evidence.commitment === 'finalized' ? contradiction : nothing;
  }
  // Whoever is about to send it has to look: it ended meanwhile, and its message must stay where it is.
  if (evidence.kind === 'sending') return state === 'finalized' ? nothing : contradiction;
  return evidence.kind === 'expired' && state === 'finalized' ? contradiction : nothing;
}
