import type { Logger } from '@sluice/shared/log/log.ts';
import type { NewOrder } from '../store/order-table.ts';
import { StoreAwayError } from '../store/store-away.ts';
import type { OrderLedger } from './order-ledger.ts';
import type { StoredOrder } from './order.ts';
import type { Broadcaster } from './send/broadcaster.ts';
import type { Follower } from './follow/follower.ts';

/**
 * What is told of an order whose insert nobody answered: it may be stored, and then it will be sent. Throws what is no fault of the
 * store's again.
 */
export function perhapsStored(error: unknown, { id, signature }: Pick<NewOrder, 'id' | 'signature'>) {
  if (!(error instanceof StoreAwayError)) throw error;
  const message = 'The store did not answer: the order may be sent, or not. It is told under its id, and its signature is known.';
  return { error: 'UPSTREAM_UNAVAILABLE', message, details: { orderId: id, signature }, retryAfterSeconds: 1 } as const;
}

interface FirstSendParts {
  readonly log: Pick<Logger, 'error'>;
  readonly ledger: Pick<OrderLedger, 'apply'>;
  readonly follower: Pick<Follower, 'follow'>;
  readonly broadcaster: Pick<Broadcaster, 'send'>;
}

/**
 * Sends an order that is stored as submitted, and has it followed. From the first byte on nothing that goes wrong here is a failure of
 * the order: whoever was told of one would make it anew. The follower stores what becomes of it.
 */
export async function firstSend(
  order: StoredOrder,
  wire: Uint8Array,
  { ledger, follower, broadcaster, log }: FirstSendParts,
): Promise<StoredOrder> {
  const { signature, lastValidBlockHeight } = order;
  if (signature === null) throw new Error(`order ${order.id} has no message`);
  follower.follow(order);
  const first = await broadcaster.send({ signature, wire, lastValidBlockHeight });
  if (first.kind !== 'unanswered') return order;
  try {
    return await ledger.apply(order, { kind: 'silence' });
  } catch (error) {
    log.error({ err: error, orderId: order.id }, 'first_answer_not_stored');
    return order;
  }
}
