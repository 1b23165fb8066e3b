import type { Clock } from '@sluice/shared/clock/clock.ts';
import { pause } from '@sluice/shared/abort/pause.ts';
import type { PassingMap } from '@sluice/shared/collections/passing-map.ts';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import { createBlockhashDeaths } from './blockhash-deaths.ts';
import { createNodeHistory } from './node-history.ts';
import type { SendNode } from '../nodes/nodes.ts';
import { readFinalizedPoint, readStatuses, type FinalizedPoint } from './signature-status.ts';
import type { NodeView, TrackedOrder } from './tracked-order.ts';

/** Signatures of one `getSignatureStatuses`, as nodes limit it. */
const maxStatuses = 256;
/** How often a node is asked about an order that is not confirmed yet, and about one that only waits to be final. */
const pollEveryMs = 350;
const pollConfirmedEveryMs = 2_000;
/** How often it is looked which orders are due. */
const tickMs = 100;
/** The finalized height is no older than that when orders are held against it. */
const heightEveryMs = 1_000;
/** A node remembers recent statuses for some hundred slots; of older ones it must search its history. */
const recentForMs = 20_000;
/** A node that failed is asked again after so long, doubled with each failure in a row. */
const firstPauseMs = 200;
const maxPauseMs = 3_000;

export interface PolledOrders<Order extends TrackedOrder> {
  /** Those that have a message. */
  tracked(): Pick<PassingMap<string, Order>, 'size' | 'values'>;
  /** Resolves when there may be something to do sooner than at the next tick. */
  wait(ms: number): Promise<void>;
  onView(node: number, order: Order, view: NodeView): void;
  onFinalized(node: number, point: FinalizedPoint): void;
}

export type PollCounter = 'polls' | 'heights' | 'malformed' | 'unanswered';

export interface StatusPollerOptions<Order extends TrackedOrder> {
  readonly node: SendNode;
  /** Its number among the nodes. */
  readonly index: number;
  readonly orders: PolledOrders<Order>;
  readonly newestSlot: () => number;
  readonly counters: Record<PollCounter, number>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Asks one node, for as long as there are open orders, where it has their transactions. Ends when `signal` fires. */
export async function pollStatuses<Order extends TrackedOrder>(options: StatusPollerOptions<Order>): Promise<void> {
  const { node, index, orders, newestSlot, counters, clock, signal } = options;
  const ask = askingOf(node, signal);
  const history = createNodeHistory(ask);
  const deaths = createBlockhashDeaths(ask, newestSlot);
  let finalized: FinalizedPoint | null = null;
  let finalizedAtMs = -Infinity;
  let failures = 0;

  /** When the node answered last, or failed to. */
  const lastAnswerMs = new WeakMap<Order, number>();
  const answeredOrNever = (tracked: Order): number => lastAnswerMs.get(tracked) ?? -Infinity;

  function due(nowMs: number): Order[] {
    const found: Order[] = [];
    for (const tracked of orders.tracked().values()) {
      const everyMs = tracked.order.state === 'confirmed' ? pollConfirmedEveryMs : pollEveryMs;
      const askedMs = answeredOrNever(tracked);
      if (nowMs - askedMs >= everyMs || tracked.hintedAtMs > askedMs) found.push(tracked);
    }
    if (found.length <= maxStatuses) return found;
    // Those that were answered for longest ago first: none is passed over however many there are, and however the node answers for some.
    return found.sort((a, b) => (answeredOrNever(a) < answeredOrNever(b) ? -1 : 1)).slice(0, maxStatuses);
  }

  /** Past its last block on this node's finalized chain. */
  function isPast({ lastValidBlockHeight }: TrackedOrder): boolean {
    return finalized !== null && lastValidBlockHeight !== null && finalized.blockHeight > lastValidBlockHeight;
  }

  /** As far as this node goes. */
  function canLandNoMore(tracked: Order): boolean {
    return finalized !== null && isPast(tracked) && deaths.canLandNoMore(tracked, finalized);
  }

  /** What it does not have says nothing: it would not have it either had it landed. */
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
    const ended = some.map(canLandNoMore);
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
      // Behind a load balancer the answer may be another node's: it counts only where that one has seen as much.
      const isForgotten = status === null && forgettable[at] === true;
      const absent = status === null && search && ended[at] === true && !isForgotten && point !== null && contextSlot >= point.slot;
      const absences = absent ? (tracked.views[index]?.absences ?? 0) + 1 : 0;
      orders.onView(index, tracked, { status, contextSlot, atMs, absences, isForgotten });
    }
    return true;
  }

  while (!signal.aborted) {
    if (orders.tracked().size === 0) await orders.wait(Infinity);
    // A tick even where orders come all the time: one look and one request for all that came in it.
    await pause(tickMs, signal, { clock });
    if (signal.aborted) return;
    const nowMs = clock.steadyMs();
    const some = due(nowMs);
    if (some.length === 0) continue;
    const unseen = some.some(({ views }) => (views[index]?.status ?? null) === null);
    if (unseen && nowMs - finalizedAtMs > heightEveryMs) await readHeight(nowMs);
    if (some.some(mayBeForgotten)) await history.look(nowMs);
    const past = some.filter(isPast);
    if (finalized !== null && past.length > 0) await deaths.look(past, finalized, nowMs);
    const isOld = (tracked: Order): boolean => isPast(tracked) || clock.wallMs() - tracked.order.createdAtMs > recentForMs;
    const recent = await readSome(
      some.filter((tracked) => !isOld(tracked)),
      false,
    );
    const old = await readSome(some.filter(isOld), true);
    const answeredAtMs = clock.steadyMs();
    for (const tracked of some) lastAnswerMs.set(tracked, answeredAtMs);
    failures = recent && old ? 0 : failures + 1;
    if (failures > 0) await orders.wait(Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 10)));
  }
}

/** Null where the node gave no answer. */
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
