import type { Clock } from '@sluice/shared/clock/clock.ts';
import { pause } from '@sluice/shared/abort/pause.ts';
import type { TransientMap } from '@sluice/shared/collections/transient-map.ts';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import { createBlockhashExpiry } from './blockhash-expiry.ts';
import { createNodeHistory } from './node-history.ts';
import type { SendNode } from '../../nodes/nodes.ts';
import { readFinalizedPoint, readStatuses, type FinalizedPoint } from './signature-status.ts';
import type { NodeView, TrackedOrder } from './tracked-order.ts';

/** Most signatures in one `getSignatureStatuses`: the limit of nodes. */
const maxStatuses = 256;
/** How often a node is asked about an unconfirmed order, and about a confirmed one that waits to be finalized. */
const pollEveryMs = 350;
const pollConfirmedEveryMs = 2_000;
/** How often it checks which orders are due. */
const tickMs = 100;
/** The finalized height is read again if it is older than this. */
const heightEveryMs = 1_000;
/** A node remembers statuses for some hundred slots. For older orders it must search its history. */
const recentForMs = 20_000;
/** Pause after a failure of the node, doubled with each failure in a row. */
const firstPauseMs = 200;
const maxPauseMs = 3_000;

export interface PolledOrders<Order extends TrackedOrder> {
  /** The orders that have a message. */
  tracked(): Pick<TransientMap<string, Order>, 'size' | 'values'>;
  /** Resolves after `ms`, or earlier if there is a new order. */
  wait(ms: number): Promise<void>;
  onView(node: number, order: Order, view: NodeView): void;
  onFinalized(node: number, point: FinalizedPoint): void;
}

export type PollCounter = 'polls' | 'heights' | 'malformed' | 'unanswered';

export interface StatusPollerOptions<Order extends TrackedOrder> {
  readonly node: SendNode;
  /** Index of the node among all nodes. */
  readonly index: number;
  readonly orders: PolledOrders<Order>;
  readonly newestSlot: () => number;
  readonly counters: Record<PollCounter, number>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Asks one node for the statuses of all open orders. Resolves when `signal` fires. */
export async function pollStatuses<Order extends TrackedOrder>(options: StatusPollerOptions<Order>): Promise<void> {
  const { node, index, orders, newestSlot, counters, clock, signal } = options;
  const ask = askingOf(node, signal);
  const history = createNodeHistory(ask);
  const expiry = createBlockhashExpiry(ask, newestSlot);
  let finalized: FinalizedPoint | null = null;
  let finalizedAtMs = -Infinity;
  let failures = 0;

  /** When the last request about an order ended, with or without an answer. */
  const lastAskedMs = new WeakMap<Order, number>();
  const lastAskedOrNever = (tracked: Order): number => lastAskedMs.get(tracked) ?? -Infinity;

  function due(nowMs: number): Order[] {
    const found: Order[] = [];
    for (const tracked of orders.tracked().values()) {
      const everyMs = tracked.order.state === 'confirmed' ? pollConfirmedEveryMs : pollEveryMs;
      const askedMs = lastAskedOrNever(tracked);
      if (nowMs - askedMs >= everyMs || tracked.seenAtMs > askedMs) found.push(tracked);
    }
    if (found.length <= maxStatuses) return found;
    // The longest unasked come first, so that every order gets its turn even if there are many or the node fails for some.
    return found.sort((a, b) => (lastAskedOrNever(a) < lastAskedOrNever(b) ? -1 : 1)).slice(0, maxStatuses);
  }

  /** Whether the last valid block of the order is finalized on this node. */
  function isPast({ lastValidBlockHeight }: TrackedOrder): boolean {
    return finalized !== null && lastValidBlockHeight !== null && finalized.blockHeight > lastValidBlockHeight;
  }

  /** Whether the message cannot land any more, according to this node. */
  function cannotLand(tracked: Order): boolean {
    return finalized !== null && isPast(tracked) && expiry.cannotLand(tracked, finalized);
  }

  /** Whether a missing status means nothing, because the node may have forgotten the transaction. */
  function mayBeForgotten(tracked: TrackedOrder): boolean {
    return finalized !== null && isPast(tracked) && history.mayHaveForgotten(tracked.order, finalized);
  }

  async function readHeight(nowMs: number): Promise<void> {
    counters.heights++;
    const point = readFinalizedPoint(await ask('getEpochInfo', [{ commitment: 'finalized' }]), newestSlot());
    if (point === null) return;
    finalized = point;
    finalizedAtMs = nowMs;
    orders.onFinalized(index, point);
  }

  async function readSome(some: readonly Order[], search: boolean): Promise<boolean> {
    if (some.length === 0) return true;
    counters.polls++;
    const point = finalized;
    const ended = some.map(cannotLand);
    const forgettable = some.map(mayBeForgotten);
    const params = [some.map(({ signature }) => signature), { searchTransactionHistory: search }];
    const answer = await ask('getSignatureStatuses', params);
    const read = readStatuses(answer, some.length, newestSlot());
    if (read === null) {
      counters[answer === null ? 'unanswered' : 'malformed']++;
      return false;
    }
    const { contextSlot, statuses } = read;
    const atMs = clock.steadyMs();
    for (const [at, tracked] of some.entries()) {
      const status = statuses[at] ?? null;
      // Behind a load balancer another node may answer. Its answer is used only if it has reached the slot of `point`.
      const isForgotten = status === null && forgettable[at] === true;
      const absent = status === null && search && ended[at] === true && !isForgotten && point !== null && contextSlot >= point.slot;
      const absences = absent ? (tracked.views[index]?.absences ?? 0) + 1 : 0;
      orders.onView(index, tracked, { status, contextSlot, atMs, absences, isForgotten });
    }
    return true;
  }

  while (!signal.aborted) {
    if (orders.tracked().size === 0) await orders.wait(Infinity);
    // Waits a tick even if there are new orders, so that one request covers all orders of the tick.
    await pause(tickMs, signal, { clock });
    if (signal.aborted) return;
    const nowMs = clock.steadyMs();
    const some = due(nowMs);
    if (some.length === 0) continue;
    const unseen = some.some(({ views }) => (views[index]?.status ?? null) === null);
    if (unseen && nowMs - finalizedAtMs > heightEveryMs) await readHeight(nowMs);
    if (some.some(mayBeForgotten)) await history.check(nowMs);
    const past = some.filter(isPast);
    if (finalized !== null && past.length > 0) await expiry.check(past, finalized, nowMs);
    const isOld = (tracked: Order): boolean => isPast(tracked) || clock.wallMs() - tracked.order.createdAtMs > recentForMs;
    const recent = await readSome(
      some.filter((tracked) => !isOld(tracked)),
      false,
    );
    const old = await readSome(some.filter(isOld), true);
    const endedAtMs = clock.steadyMs();
    for (const tracked of some) lastAskedMs.set(tracked, endedAtMs);
    failures = recent && old ? 0 : failures + 1;
    if (failures > 0) await orders.wait(Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 10)));
  }
}

/** A call of this node that resolves with null if the node gives no answer. */
function askingOf({ rpc }: SendNode, signal: AbortSignal): (method: string, params: readonly unknown[]) => Promise<unknown> {
  return async (method, params) => {
    try {
      return await rpc.call(method, params, signal);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return null;
    }
  };
}
