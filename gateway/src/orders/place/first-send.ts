import type { Logger } from '@sluice/shared/log/log.ts';
import type { NewOrder } from '../model/order.ts';
import { StoreAwayError } from '../../store/store-away.ts';
import type { OrderLedger } from '../ledger/order-ledger.ts';
import type { OpenOrder } from '../model/order.ts';
import type { OrderFollower } from '../follow/order-follower.ts';
import type { FirstRound } from '../send/first-round.ts';

/**
 * What is told of an order whose insert nobody answered: it may be stored, and then it will be sent. Throws what is no fault of the
 * store's again.
 */
export function perhapsStored(error: unknown, { id, signature }: Pick<NewOrder, 'id' | 'signature'>) {
  if (!(error instanceof StoreAwayError)) throw error;
  const message = 'The store did not answer: the order may be sent, or not. It is told under its id, and its signature is known.';
  return { error: 'UPSTREAM_UNAVAILABLE', message, details: { orderId: id, signature }, retryAfterSeconds: 1 } as const;
}

/** Sends signed bytes by all lanes at once, each once. Never rejects. */
export type SendFirst = (signature: string, wire: Uint8Array) => Promise<FirstRound>;

interface FirstSendParts {
  readonly log: Pick<Logger, 'error'>;
  readonly ledger: Pick<OrderLedger, 'apply'>;
  readonly follower: Pick<OrderFollower, 'follow'>;
  readonly sendFirst: SendFirst;
}

/** A request waits for a node's acknowledgement until this long after it began, and at least for `leastAcknowledgeMs`. */
const answerWithinMs = 950;
const leastAcknowledgeMs = 50;

/**
 * Sends an order that is stored as submitted, and has it followed. Nothing that fails after the first byte makes the order fail, because a
 * caller who is told of a failure places the order again. The follower stores what becomes of it. `startedMs`: when the request began.
 */
export async function firstSend(
  order: OpenOrder,
  wire: Uint8Array,
  startedMs: number,
  { ledger, follower, sendFirst, log }: FirstSendParts,
): Promise<OpenOrder> {
  const { signature } = order;
  if (signature === null) throw new Error(`order ${order.id} has no message`);
  // The bytes leave first: to hand the order over takes longer than nodes need to be told.
  const first = sendFirst(signature, wire);
  follower.follow(order);
  const settled = first.then(({ kind }) => (kind === 'unanswered' ? noteSilence() : order));
  let timer: NodeJS.Timeout | undefined;
  const unacknowledged = new Promise<OpenOrder>((resolve) => {
    const leftMs = startedMs + answerWithinMs - performance.now();
    timer = setTimeout(() => resolve(order), Math.max(leastAcknowledgeMs, leftMs));
  });
  return await Promise.race([settled, unacknowledged]).finally(() => clearTimeout(timer));

  async function noteSilence(): Promise<OpenOrder> {
    try {
      return await ledger.apply(order, { kind: 'silence' });
    } catch (error) {
      log.error({ err: error, orderId: order.id }, 'first_answer_not_stored');
      return order;
    }
  }
}
