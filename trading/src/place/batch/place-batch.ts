import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';
import { errorBody } from '@sluice/shared/wire/errors.ts';
import type { BatchAnswer } from '@sluice/shared/wire/rest/trading/batch.ts';
import { keyOfOrder, ownerOf, type IdempotencyUse, type Owner } from '@sluice/gateway/store/order-model/order.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { BundleSimulator, type BundleSimulatorOptions } from '../../nodes/simulate/bundle-simulator.ts';
import type { TradeRequest } from '../../prepare/request.ts';
import { KeyLocks } from '../admission/admission.ts';
import type { Outcome, Refusal } from '../outcome.ts';
import type { PlaceOrder } from '../place-order.ts';
import { placeBundle, type BundleParts } from './place-bundle.ts';

/** Orders of one batch that are placed at a time, each of another wallet. */
const maxAtOnce = 8;
/** An order that has not begun this long after its batch is refused: a gateway that handed the call over waits ten seconds. */
const beginWithinMs = 7_000;

const late = refusedUnbegun(
  'The orders before it took too long, so this one was not begun. Send the batch again with the same Idempotency-Key.',
);
const closing = refusedUnbegun(
  'This gateway gave the trading role up before this order was begun. Send the batch again with the same Idempotency-Key.',
);

function refusedUnbegun(message: string): Refusal {
  return { error: 'UPSTREAM_UNAVAILABLE', message, retryAfterSeconds: 1 };
}

interface BatchParts {
  readonly placeOrder: PlaceOrder;
  readonly placeBundle: (owner: Owner, requests: readonly TradeRequest[], use: IdempotencyUse | null) => Promise<Outcome<BatchAnswer>>;
  readonly orders: Pick<OrderTable, 'lookUp'>;
  /** Aborted when this gateway stops placing orders. */
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, 'error'>;
}

/** An order of a batch as it was read, or what is wrong with it. */
type BatchRequest = TradeRequest | Refusal;

/** `separate`: each order has its own outcome. `bundle`: all are placed, or none. */
export type ReadBatch =
  | { readonly kind: 'separate'; readonly requests: readonly BatchRequest[] }
  | { readonly kind: 'bundle'; readonly requests: readonly TradeRequest[] };

/** Places several orders. Never throws for an error of a node or of the store. */
export type PlaceBatch = (owner: Owner, batch: ReadBatch, idempotency: IdempotencyUse | null) => Promise<Outcome<BatchAnswer>>;

export function createPlaceBatch(parts: BatchParts): PlaceBatch {
  const locks = new KeyLocks();
  return (owner, batch, use) =>
    locks.run(owner, use, async (): Promise<Outcome<BatchAnswer>> => {
      if (use !== null && (await parts.orders.lookUp(ownerOf(owner), use)).kind === 'mismatch') return { error: 'IDEMPOTENCY_MISMATCH' };
      return batch.kind === 'bundle' ? parts.placeBundle(owner, batch.requests, use) : placeBatch(owner, batch.requests, use, parts);
    });
}

interface OpenBatches
  extends
    Omit<BatchParts, 'placeBundle' | 'orders' | 'log'>,
    Omit<BundleParts, 'bundleSimulator' | 'hasBlockEngine'>,
    Pick<BundleSimulatorOptions, 'nodes' | 'newestSlot'> {
  readonly config: Pick<Config, 'broadcast'>;
}

/** Places batches and bundles with the parts that place single orders. */
export function openBatches({ nodes, newestSlot, config, ...parts }: OpenBatches): PlaceBatch {
  const hasBlockEngine = config.broadcast.jitoUrl !== null;
  const bundleSimulator = new BundleSimulator({ nodes, newestSlot, signal: parts.signal });
  return createPlaceBatch({ ...parts, placeBundle: (...bundle) => placeBundle(...bundle, { ...parts, bundleSimulator, hasBlockEngine }) });
}

async function placeBatch(
  owner: Owner,
  requests: readonly BatchRequest[],
  use: IdempotencyUse | null,
  { placeOrder, signal, log }: BatchParts,
): Promise<Outcome<BatchAnswer>> {
  const endMs = performance.now() + beginWithinMs;
  const place = async (request: BatchRequest, index: number): Promise<Outcome> => {
    if ('error' in request) return request;
    if (signal.aborted) return closing;
    if (performance.now() > endMs) return late;
    return placeOrder(owner, request, use === null ? null : keyOfOrder(use, index));
  };
  // A bug in one order must not hide what happened to the others.
  const failed = (error: unknown): Refusal => {
    log.error({ err: error }, 'batch_order_failed');
    return { error: 'INTERNAL' };
  };
  const outcomes: Outcome[] = [];
  const running = new Semaphore(maxAtOnce);
  const linesOfOrders = byWallet(requests).map(async (line) => {
    for (const [index, request] of line) outcomes[index] = await running.run(() => place(request, index).catch(failed));
  });
  await Promise.all(linesOfOrders);
  return { answer: { results: outcomes.map(resultOf) }, isReplay: outcomes.some((one) => 'answer' in one && one.isReplay) };
}

type Placed = readonly [index: number, request: BatchRequest];

/** The orders of each wallet, with their places in the batch. Each needs the balance that the one before it leaves. */
function byWallet(requests: readonly BatchRequest[]): readonly (readonly Placed[])[] {
  const lines = new Map<string, Placed[]>();
  for (const [index, request] of requests.entries()) {
    const wallet = 'error' in request ? '' : request.publicKey;
    const line = lines.get(wallet) ?? [];
    line.push([index, request]);
    lines.set(wallet, line);
  }
  return [...lines.values()];
}

function resultOf(outcome: Outcome): BatchAnswer['results'][number] {
  return 'error' in outcome ? { error: errorBody(outcome.error, outcome.message, outcome.details) } : outcome.answer;
}
