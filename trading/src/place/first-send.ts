import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { NewOrder, OpenOrder } from '@sluice/gateway/store/order-model/order.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { OrderLedger } from '../model/order-ledger.ts';
import type { ThreadedFollower } from '../follow/thread/threaded-follower.ts';
import type { BundledMessage, FirstRound } from '../send/lanes.ts';

/** The refusal if the store did not answer an insert. If the order is stored, it will be sent. Rethrows other errors. */
export function unansweredInsert(error: unknown, { id, signature }: Pick<NewOrder, 'id' | 'signature'>) {
  if (!(error instanceof StoreUnavailableError)) throw error;
  const message = 'The store did not answer, so the order may or may not be sent. Look it up by its id or its signature.';
  return { error: 'UPSTREAM_UNAVAILABLE', message, details: { orderId: id, signature }, retryAfterSeconds: 1 } as const;
}

/** Sends signed bytes once on each lane that may have them, on all at the same time. Never rejects. */
export type SendFirst = (signature: string, wire: Uint8Array, blockEngineOnly: boolean) => Promise<FirstRound>;

/** Sends the signed transactions of a bundle once to the block engine. Never rejects. */
export type SendBundle = (bundle: readonly BundledMessage[]) => Promise<FirstRound>;

interface FollowParts {
  readonly log: Pick<Logger, 'error'>;
  readonly ledger: Pick<OrderLedger, 'apply'>;
  readonly follower: Pick<ThreadedFollower, 'follow'>;
}

interface FirstSendParts extends FollowParts {
  readonly sendFirst: SendFirst;
}

/** A request waits for a node's acknowledgement until this long after its start, and at least `leastAcknowledgeMs`. */
const answerWithinMs = 900;
const leastAcknowledgeMs = 50;

/**
 * Sends an order that is stored as submitted, and starts to follow it. After the first byte no error makes the order fail, because a caller
 * who receives a failure places the order again. The follower stores the result. `startedMs`: when the request began (`performance.now()`).
 */
export async function firstSend(order: OpenOrder, wire: Uint8Array, startedMs: number, parts: FirstSendParts): Promise<OpenOrder> {
  // Sends before it follows: handing the order to the follower takes longer than the first byte.
  const first = parts.sendFirst(messageOf(order, wire).signature, wire, order.terms?.blockEngineOnly === true);
  const [sent = order] = await followSent([order], first, startedMs, parts);
  return sent;
}

/** Sends the orders of a bundle together. Otherwise like `firstSend`. `wires`: one for each order. */
export async function firstSendOfBundle(
  orders: readonly OpenOrder[],
  wires: readonly Uint8Array[],
  startedMs: number,
  { sendBundle, ...parts }: FollowParts & { readonly sendBundle: SendBundle },
): Promise<readonly OpenOrder[]> {
  const first = sendBundle(orders.map((order, at) => messageOf(order, wires[at]!)));
  return followSent(orders, first, startedMs, parts);
}

function messageOf({ id, signature }: OpenOrder, wire: Uint8Array): BundledMessage {
  if (signature === null) throw new Error(`order ${id} has no message`);
  return { signature, wire };
}

async function followSent(
  orders: readonly OpenOrder[],
  first: Promise<FirstRound>,
  startedMs: number,
  { ledger, follower, log }: FollowParts,
): Promise<readonly OpenOrder[]> {
  for (const order of orders) follower.follow(order);
  const answered = first.then(({ kind }) => (kind === 'unanswered' ? Promise.all(orders.map(noteSilence)) : orders));
  let timer: NodeJS.Timeout | undefined;
  const unacknowledged = new Promise<readonly OpenOrder[]>((resolve) => {
    const leftMs = startedMs + answerWithinMs - performance.now();
    timer = setTimeout(() => resolve(orders), Math.max(leastAcknowledgeMs, leftMs));
  });
  return await Promise.race([answered, unacknowledged]).finally(() => clearTimeout(timer));

  async function noteSilence(order: OpenOrder): Promise<OpenOrder> {
    try {
      return await ledger.apply(order, { kind: 'silence' });
    } catch (error) {
      log.error({ err: error, orderId: order.id }, 'first_answer_not_stored');
      return order;
    }
  }
}
