import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { Advance, AdvanceOutcome, OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { judge } from '@sluice/gateway/store/order-model/life.ts';
import type { Followed } from '../followed-orders.ts';
import type { FollowerCounters } from '../followed-orders.ts';
import { createWaker, type Waker } from '../thread/waker.ts';

/** Pause between two rounds. The changes of one round share commits, because a commit costs as much as ten changes. */
const roundEveryMs = 100;
/** Changes in one commit, usually and at most. New orders are stored between the commits, and must not wait while a slot ends a hundred orders. */
const usualChanges = 8;
const maxChanges = 32;
/** Pause after a failure of the store. */
const storePauseMs = 500;

/** Calls the store. Resolves with null if it fails; the first failure in a row is logged. */
export type TryStore = <T>(work: () => Promise<T>) => Promise<T | null>;

export function createTryStore(counters: Pick<FollowerCounters, 'storeFailures'>, log: Pick<Logger, 'error'>): TryStore {
  let fails = false;
  return async (work) => {
    try {
      const result = await work();
      fails = false;
      return result;
    } catch (error) {
      counters.storeFailures++;
      if (!fails) log.error({ err: error }, 'order_store_failed');
      fails = true;
      return null;
    }
  };
}

export interface ChangeWriterOptions {
  readonly orders: Pick<OrderTable, 'advanceAll'>;
  readonly counters: FollowerCounters;
  readonly tryStore: TryStore;
  /** Whether the order is still followed. */
  readonly isFollowed: (followed: Followed) => boolean;
  /** Called with the result of a change; null if the order is not in the store any more. */
  readonly onStored: (followed: Followed, outcome: Exclude<AdvanceOutcome, { kind: 'no_such_order' }> | null) => void;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'error'>;
  readonly signal: AbortSignal;
}

/** Stores the changes of orders that follow from their evidence, many in one commit. */
export class ChangeWriter {
  readonly #options: ChangeWriterOptions;
  readonly #waker: Waker;
  readonly #pace: Waker;
  /** Contains each followed order at most once. */
  #waiting = new Set<Followed>();
  /** Halved after each failure of the store, so that a change that it never accepts ends up in a commit of its own. */
  #most = maxChanges;

  constructor(options: ChangeWriterOptions) {
    this.#options = options;
    this.#waker = createWaker(options.signal, options.clock);
    this.#pace = createWaker(options.signal, options.clock);
  }

  /** Queues an order whose evidence changes it. */
  add(followed: Followed): void {
    this.#waiting.add(followed);
    this.#waker.wake();
  }

  /** Runs until `signal` fires. */
  async run(): Promise<void> {
    while (!this.#options.signal.aborted) {
      if (this.#waiting.size === 0) await this.#waker.wait(Infinity);
      // Waits for the other changes of this turn of the event loop.
      await turn();
      await this.#storeAll();
      await this.#pace.wait(roundEveryMs);
    }
  }

  #advanceOf(followed: Followed): Advance | null {
    const { isFollowed, counters, clock, log } = this.#options;
    const { order, evidence } = followed;
    if (evidence === null || !isFollowed(followed)) return null;
    const verdict = judge(order, evidence);
    if (verdict.kind === 'contradiction' && !followed.contradicted) {
      followed.contradicted = true;
      counters.contradictions++;
      log.error({ orderId: order.id, state: order.state, evidence: evidence.kind }, 'order_contradicted');
    }
    return verdict.kind === 'change' ? { order, change: verdict.change, atMs: clock.wallMs() } : null;
  }

  /** Returns the orders whose changes the store did not accept: none, or all of the commit. */
  async #storeSome(round: Set<Followed>): Promise<readonly Followed[]> {
    const { orders, tryStore, onStored } = this.#options;
    const advances: Advance[] = [];
    const changed: Followed[] = [];
    const atOnce = Math.min(this.#most, Math.max(usualChanges, round.size >> 3));
    for (const followed of round) {
      if (advances.length === atOnce) break;
      round.delete(followed);
      const advance = this.#advanceOf(followed);
      if (advance === null) continue;
      advances.push(advance);
      changed.push(followed);
    }
    if (advances.length === 0) return [];
    const outcomes = await tryStore(() => orders.advanceAll(advances));
    if (outcomes === null) {
      this.#most = Math.max(1, advances.length >> 1);
      return changed;
    }
    this.#most = Math.min(maxChanges, 2 * this.#most);
    for (const [at, outcome] of outcomes.entries()) onStored(changed[at]!, outcome.kind === 'no_such_order' ? null : outcome);
    return [];
  }

  async #storeAll(): Promise<void> {
    const round = this.#waiting;
    this.#waiting = new Set();
    while (round.size > 0 && !this.#options.signal.aborted) {
      const failed = await this.#storeSome(round);
      if (failed.length === 0) {
        await turn();
        continue;
      }
      // Moves them to the end, so that a change that cannot be stored does not delay the others.
      for (const followed of [...round, ...failed]) {
        this.#waiting.delete(followed);
        this.#waiting.add(followed);
      }
      return await this.#pace.wait(storePauseMs);
    }
  }
}
