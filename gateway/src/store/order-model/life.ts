import { endStates, type OrderChange, type OrderFill, type OrderState, type OrderTerms, type StoredOrder } from './order.ts';

/** The fields of an order that decide which evidence changes it. */
export type OrderProgress = Pick<StoredOrder, 'kind' | 'state' | 'signature' | 'fill' | 'terms'>;

export type OrderError = NonNullable<StoredOrder['error']>;

/** What was found out about an order. */
export type Evidence =
  /** The nodes agree that its transaction is in a block. */
  | {
      readonly kind: 'landed';
      readonly commitment: 'processed' | 'confirmed' | 'finalized';
      /** Why the transaction failed; null if it succeeded. */
      readonly error: OrderError | null;
      /** Null if the transaction was not read yet. */
      readonly fill: OrderFill | null;
      /** What it trades, if that was read together with the fill. */
      readonly terms?: OrderTerms | null;
    }
  /** Its transaction was in a block that does not belong to the chain any more. */
  | { readonly kind: 'gone' }
  /** No node that could know answers. */
  | { readonly kind: 'silence' }
  /** Nodes answer and have not seen the transaction. It can still land. */
  | { readonly kind: 'pending' }
  /**
   * The transaction cannot land any more: its last valid block is finalized, and the chain up to there does not contain it. If there is another reason,
   * `error` names it.
   */
  | { readonly kind: 'expired'; readonly error?: OrderError };

/**
 * `nothing`: the evidence adds nothing to what is stored. `contradiction`: the evidence and the stored order cannot both be true. The order
 * stays as it is, and the contradiction is logged for an operator.
 */
export type OrderVerdict =
  | { readonly kind: 'change'; readonly change: OrderChange }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'contradiction' };

const nextStates: Readonly<Record<OrderState, readonly OrderState[]>> = {
  submitted: ['processed', 'confirmed', 'finalized', 'failed', 'expired', 'unknown'],
  // Until a block is confirmed, its fork may die. Then nobody knows whether the transaction lands again.
  processed: ['confirmed', 'finalized', 'failed', 'expired', 'unknown'],
  unknown: ['submitted', 'processed', 'confirmed', 'finalized', 'failed', 'expired'],
  // The validators confirmed the block, so only the finalized chain can contradict it.
  confirmed: ['finalized', 'failed', 'expired'],
  finalized: [],
  failed: [],
  expired: [],
};

export function mayBecome(from: OrderState, to: OrderState): boolean {
  return nextStates[from].includes(to);
}

/**
 * Whether an order may be inserted in this state. An order is inserted with its message, just before the first byte is sent. A paper order
 * is inserted already filled.
 */
export function mayInsert({ kind, state, signature }: Pick<OrderProgress, 'kind' | 'state' | 'signature'>): boolean {
  return kind === 'paper' ? state === 'finalized' : state === 'submitted' && signature !== null;
}

const change = (what: OrderChange): OrderVerdict => ({ kind: 'change', change: what });
const nothing: OrderVerdict = { kind: 'nothing' };
const contradiction: OrderVerdict = { kind: 'contradiction' };

/** How evidence changes an order. An order never goes back to an earlier state, except from `unknown`, and never leaves an end state. */
export function judge(order: OrderProgress, evidence: Evidence): OrderVerdict {
  const { state } = order;
  if (endStates.has(state)) return judgeEnded(order, evidence);
  switch (evidence.kind) {
    case 'landed':
      return judgeLanded(order, evidence);
    case 'gone':
    case 'silence':
      // Silence does not change what is known of a block. A block that is gone does, unless it was confirmed.
      if (state === 'submitted' || (state === 'processed' && evidence.kind === 'gone')) return change({ state: 'unknown' });
      return nothing;
    case 'pending':
      return state === 'unknown' ? change({ state: 'submitted' }) : nothing;
    case 'expired':
      return change({ state: 'expired', ...(evidence.error !== undefined && { error: evidence.error }) });
  }
}

/** The fill, and the terms if they are not stored yet. */
function readBy({ fill, terms = null }: Extract<Evidence, { kind: 'landed' }>, order: OrderProgress): OrderChange {
  if (fill === null) return {};
  return order.terms === null && terms !== null ? { fill, terms } : { fill };
}

function judgeLanded(order: OrderProgress, evidence: Extract<Evidence, { kind: 'landed' }>): OrderVerdict {
  const { commitment, error, fill } = evidence;
  const { state, kind } = order;
  if (order.signature === null || kind === 'paper') return contradiction;
  const read = readBy(evidence, order);
  // On another fork the same transaction may have another result, so only a confirmed result ends an order.
  const next: OrderState = error !== null && commitment !== 'processed' ? 'failed' : commitment;
  const more: OrderChange = next === 'failed' && error !== null ? { error, ...read } : read;
  if (mayBecome(state, next)) return change({ state: next, ...more });
  // The state is known already. The evidence matters only if it adds the fill.
  return next === state && fill !== null && order.fill === null ? change(read) : nothing;
}

function judgeEnded(order: OrderProgress, evidence: Evidence): OrderVerdict {
  const { state, fill, kind } = order;
  if (evidence.kind === 'landed') {
    if (state === 'expired') return contradiction;
    if (state === 'finalized') {
      if (evidence.error !== null && evidence.commitment === 'finalized') return contradiction;
      return fill === null && evidence.fill !== null && kind !== 'paper' ? change(readBy(evidence, order)) : nothing;
    }
    return evidence.error === null && evidence.commitment === 'finalized' ? contradiction : nothing;
  }
  return evidence.kind === 'expired' && state === 'finalized' ? contradiction : nothing;
}
