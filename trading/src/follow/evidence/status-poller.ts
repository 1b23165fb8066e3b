import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { TransientMap } from '@sluice/shared/runtime/collections/transient-map.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { createBlockhashExpiry, type BlockhashExpiry, createNodeHistory, type Asking, type NodeHistory } from './blockhash-expiry.ts';
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

export interface StatusPollerOptions<Order extends TrackedOrder> {
  readonly node: SendNode;
  /** Index of the node among all nodes. */
  readonly index: number;
  readonly orders: PolledOrders<Order>;
  readonly newestSlot: () => number;
  readonly counters: Record<'polls' | 'heights' | 'malformed' | 'unanswered', number>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Asks one node for the statuses of all open orders. */
export class StatusPoller<Order extends TrackedOrder> {
  readonly #options: StatusPollerOptions<Order>;
  readonly #ask: Asking;
  readonly #history: NodeHistory;
  readonly #expiry: BlockhashExpiry;
  /** When the last request about an order ended, with or without an answer. */
  readonly #lastAskedMs = new WeakMap<Order, number>();
  #finalized: FinalizedPoint | null = null;
  #finalizedAtMs = -Infinity;

  constructor(options: StatusPollerOptions<Order>) {
    this.#options = options;
    this.#ask = askingOf(options.node, options.signal);
    this.#history = createNodeHistory(this.#ask);
    this.#expiry = createBlockhashExpiry(this.#ask, options.newestSlot);
  }

  /** Resolves when `signal` fires. */
  async run(): Promise<void> {
    const { orders, clock, signal } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      if (orders.tracked().size === 0) await orders.wait(Infinity);
      // Waits a tick even if there are new orders, so that one request covers all orders of the tick.
      await pause(tickMs, signal, { clock });
      if (signal.aborted) return;
      const some = this.#due(clock.steadyMs());
      if (some.length === 0) continue;
      failures = (await this.#poll(some)) ? 0 : failures + 1;
      if (failures > 0) await orders.wait(Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 10)));
    }
  }

  #lastAsked(tracked: Order): number {
    return this.#lastAskedMs.get(tracked) ?? -Infinity;
  }

  #due(nowMs: number): Order[] {
    const found: Order[] = [];
    for (const tracked of this.#options.orders.tracked().values()) {
      const everyMs = tracked.order.state === 'confirmed' ? pollConfirmedEveryMs : pollEveryMs;
      const askedMs = this.#lastAsked(tracked);
      if (nowMs - askedMs >= everyMs || tracked.seenAtMs > askedMs) found.push(tracked);
    }
    if (found.length <= maxStatuses) return found;
    // The longest unasked come first, so that every order gets its turn even if there are many or the node fails for some.
    return found.sort((a, b) => (this.#lastAsked(a) < this.#lastAsked(b) ? -1 : 1)).slice(0, maxStatuses);
  }

  /** Returns whether the node answered. */
  async #poll(some: readonly Order[]): Promise<boolean> {
    const { index, clock } = this.#options;
    const nowMs = clock.steadyMs();
    const unseen = some.some(({ views }) => (views[index]?.status ?? null) === null);
    if (unseen && nowMs - this.#finalizedAtMs > heightEveryMs) await this.#readHeight(nowMs);
    if (some.some((tracked) => this.#mayBeForgotten(tracked))) await this.#history.check(nowMs);
    const past = some.filter((tracked) => this.#isPast(tracked));
    if (this.#finalized !== null && past.length > 0) await this.#expiry.check(past, this.#finalized, nowMs);
    const isOld = (tracked: Order): boolean => this.#isPast(tracked) || clock.wallMs() - tracked.order.createdAtMs > recentForMs;
    const recent = await this.#readSome(
      some.filter((tracked) => !isOld(tracked)),
      false,
    );
    const old = await this.#readSome(some.filter(isOld), true);
    const endedAtMs = clock.steadyMs();
    for (const tracked of some) this.#lastAskedMs.set(tracked, endedAtMs);
    return recent && old;
  }

  /** Whether the last valid block of the order is finalized on this node. */
  #isPast({ lastValidBlockHeight }: TrackedOrder): boolean {
    return this.#finalized !== null && lastValidBlockHeight !== null && this.#finalized.blockHeight > lastValidBlockHeight;
  }

  /** Whether the message cannot land any more, according to this node. */
  #cannotLand(tracked: Order): boolean {
    return this.#finalized !== null && this.#isPast(tracked) && this.#expiry.cannotLand(tracked, this.#finalized);
  }

  /** Whether a missing status means nothing, because the node may have forgotten the transaction. */
  #mayBeForgotten(tracked: TrackedOrder): boolean {
    return this.#finalized !== null && this.#isPast(tracked) && this.#history.mayHaveForgotten(tracked.order, this.#finalized);
  }

  async #readHeight(nowMs: number): Promise<void> {
    const { index, orders, newestSlot, counters } = this.#options;
    counters.heights++;
    const point = readFinalizedPoint(await this.#ask('getEpochInfo', [{ commitment: 'finalized' }]), newestSlot());
    if (point === null) return;
    this.#finalized = point;
    this.#finalizedAtMs = nowMs;
    orders.onFinalized(index, point);
  }

  async #readSome(some: readonly Order[], search: boolean): Promise<boolean> {
    if (some.length === 0) return true;
    const { index, orders, newestSlot, counters, clock } = this.#options;
    counters.polls++;
    const point = this.#finalized;
    const ended = some.map((tracked) => this.#cannotLand(tracked));
    const forgettable = some.map((tracked) => this.#mayBeForgotten(tracked));
    const params = [some.map(({ signature }) => signature), { searchTransactionHistory: search }];
    const answer = await this.#ask('getSignatureStatuses', params);
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
}

function askingOf({ rpc }: SendNode, signal: AbortSignal): Asking {
  return async (method, params) => {
    try {
      return await rpc.call(method, params, signal);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return null;
    }
  };
}
