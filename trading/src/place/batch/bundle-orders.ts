import { keyOfOrder, type BundlePlace, type IdempotencyUse, type NewOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { InsertAllOutcome, OrderInsert, OrderToInsert } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { TradeRequest } from '../../prepare/request.ts';
import { notStored, type Refusal } from '../outcome.ts';
import { tooManyAlike, type PlaceParts } from '../place-order.ts';
import type { Admitted } from '../trade-answer.ts';
import { ofOrder } from './prepare-bundle.ts';

/** A bundle that passed the checks that need no quotes. */
export interface AdmittedBundle extends Omit<Admitted, 'request'> {
  readonly requests: readonly TradeRequest[];
}

/** The order as part of a bundle: its transaction is sent with the others only. */
export function inBundle(order: NewOrder, bundle: BundlePlace): NewOrder {
  if (order.terms === null) throw new Error(`order ${order.id} has no terms`);
  return { ...order, terms: { ...order.terms, blockEngineOnly: true, bundle } };
}

export function insertionOf(
  use: IdempotencyUse | null,
  index: number,
  { gatewayId }: Pick<PlaceParts, 'gatewayId'>,
  rest: Partial<Pick<OrderInsert, 'spend' | 'paper'>>,
): OrderInsert {
  return { idempotency: use === null ? null : keyOfOrder(use, index), spend: null, followedBy: gatewayId, ...rest };
}

/** Why none of the orders was stored. */
export function notAllStored(
  { index, outcome }: Extract<InsertAllOutcome, { kind: 'refused' }>,
  inserts: readonly OrderToInsert[],
  startedMs: number,
): Refusal {
  if (outcome.kind === 'known') return ofOrder(index, tooManyAlike);
  // Another request with this key was faster.
  if (outcome.kind === 'replay') return { error: 'IDEMPOTENCY_IN_PROGRESS', retryAfterSeconds: 1 };
  const refusal = notStored(outcome, startedMs, inserts[index]![0].terms);
  if (!('error' in refusal)) throw new Error(`an order that was not stored has an answer: ${outcome.kind}`);
  return ofOrder(index, refusal);
}
