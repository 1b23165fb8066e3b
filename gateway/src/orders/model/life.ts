import { endStates, type OrderChange, type OrderFill, type OrderState, type StoredOrder } from './order.ts';

/** Where an order stands, as far as its life goes. */
export type OrderStanding = Pick<StoredOrder, 'kind' | 'state' | 'signature' | 'fill'>;

export type OrderError = NonNullable<StoredOrder['error']>;

/** What was found out about an order. */
export type Evidence =
  /** Nothing of it was sent and nothing will be. */
  | { readonly kind: 'refused'; readonly error: OrderError }
  /** The nodes agree that it is in a block. */
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
  | { readonly kind: 'expired' };

/**
 * `nothing`: known already, or less than what is known. `contradiction`: it cannot be true beside what is stored; nothing is changed,
 * and somebody should look.
 */
export type Verdict =
  | { readonly kind: 'change'; readonly change: OrderChange }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'contradiction' };

const followers: Readonly<Record<OrderState, readonly OrderState[]>> = {
  // Not sent by us any more; but a caller who signed it himself may send it, and then it lands.
  accepted: ['processed', 'confirmed', 'finalized', 'failed'],
  simulated: ['processed', 'confirmed', 'finalized', 'failed'],
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

/** Whether an order in the state `from` may next be in `to`. */
export function mayFollow(from: OrderState, to: OrderState): boolean {
  return followers[from].includes(to);
}

/**
 * Whether an order may be stored for the first time in this state: with its message, just before the first byte of it leaves, or, on
 * paper, filled.
 */
export function mayBegin({ kind, state, signature }: Pick<OrderStanding, 'kind' | 'state' | 'signature'>): boolean {
  return kind === 'paper' ? state === 'finalized' : state === 'submitted' && signature !== null;
}

/**
 * Not sent yet, nor refused: earlier versions stored an order before it was sent, and may have left it there. Whoever asks again with
 * the same key is told to wait until it has ended.
 */
export function isUnderWay(state: OrderState): boolean {
  return state === 'accepted' || state === 'simulated';
}

const change = (what: OrderChange): Verdict => ({ kind: 'change', change: what });
const nothing: Verdict = { kind: 'nothing' };
const contradiction: Verdict = { kind: 'contradiction' };

/** What an order becomes by what was found out. Never backwards, and nothing follows an end. */
export function judge(order: OrderStanding, evidence: Evidence): Verdict {
  const { state } = order;
  if (endStates.has(state)) return judgeEnded(order, evidence);
  switch (evidence.kind) {
    case 'refused':
      return isUnderWay(state) ? change({ state: 'failed', error: evidence.error }) : contradiction;
    case 'landed':
      return judgeLanded(order, evidence);
    case 'gone':
    case 'silence':
      if (isUnderWay(state)) return evidence.kind === 'gone' ? contradiction : nothing;
      // That nobody answers takes nothing back; that the block is gone does, until it is confirmed.
      if (state === 'submitted' || (state === 'processed' && evidence.kind === 'gone')) return change({ state: 'unknown' });
      return nothing;
    case 'pending':
      return state === 'unknown' ? change({ state: 'submitted' }) : nothing;
    case 'expired':
      return isUnderWay(state) && order.signature === null ? contradiction : expire(order);
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
  const more: OrderChange = next === 'failed' && error !== null ? { error, ...read } : read;
  if (mayFollow(state, next)) return change({ state: next, ...more });
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
  return evidence.kind === 'expired' && state === 'finalized' ? contradiction : nothing;
}
