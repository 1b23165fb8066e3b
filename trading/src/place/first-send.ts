import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { NewOrder, OpenOrder } from '@sluice/gateway/store/order-model/order.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { OrderLedger } from '../model/order-ledger.ts';
import type { ThreadedFollower } from '../follow/thread/threaded-follower.ts';
import type { FirstRound } from '../send/lanes.ts';

/** The refusal if the store did not answer an insert. If the order is stored, it will be sent. Rethrows other errors. */
export function unansweredInsert(error: unknown, { id, signature }: Pick<NewOrder, 'id' | 'signature'>) {
  if (!(error instanceof StoreUnavailableError)) throw error;
  const message = 'The store did not answer, so the order may or may not be sent. Look it up by its id or its signature.';
  return { error: 'UPSTREAM_UNAVAILABLE', message, details: { orderId: id, signature }, retryAfterSeconds: 1 } as const;
}

/** Sends signed bytes once on each lane that may have them, on all at the same time. Never rejects. */
export type SendFirst = (signature: string, wire: Uint8Array, blockEngineOnly: boolean) => Promise<FirstRound>;

interface FirstSendParts {
  readonly log: Pick<Logger, 'error'>;
  readonly ledger: Pick<OrderLedger, 'apply'>;
  readonly follower: Pick<ThreadedFollower, 'follow'>;
  readonly sendFirst: SendFirst;
}

/** A request waits for a node's acknowledgement until this long after its start, and at least `leastAcknowledgeMs`. */
const answerWithinMs = 900;
const leastAcknowledgeMs = 50;

/**
 * Sends an order that is stored as submitted, and starts to follow it. After the first byte no error makes the order fail, because a caller
 * who receives a failure places the order again. The follower stores the result. `startedMs`: when the request began (`performance.now()`).
 */
export async function firstSend(
  order: OpenOrder,
  wire: Uint8Array,
  startedMs: number,
  { ledger, follower, sendFirst, log }: FirstSendParts,
): Promise<OpenOrder> {
  const { signature } = order;
  if (signature === null) throw new Error(`order ${order.id} has no message`);
  // Sends before it follows: handing the order to the follower takes longer than the first byte.
  const first = sendFirst(signature, wire, order.terms?.blockEngineOnly === true);
  follower.follow(order);
  const answered = first.then(({ kind }) => (kind === 'unanswered' ? noteSilence() : order));
  let timer: NodeJS.Timeout | undefined;
  const unacknowledged = new Promise<OpenOrder>((resolve) => {
    const leftMs = startedMs + answerWithinMs - performance.now();
    timer = setTimeout(() => resolve(order), Math.max(leastAcknowledgeMs, leftMs));
  });
  return await Promise.race([answered, unacknowledged]).finally(() => clearTimeout(timer));

  async function noteSilence(): Promise<OpenOrder> {
    try {
      return await ledger.apply(order, { kind: 'silence' });
    } catch (error) {
      log.error({ err: error, orderId: order.id }, 'first_answer_not_stored');
      return order;
    }
  }
}
