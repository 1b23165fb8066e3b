import type { Clock } from '@sluice/shared/clock/clock.ts';
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { Advance, AdvanceOutcome, OrderTable } from '../../store/order-table.ts';
import { judge } from '../model/life.ts';
import type { Followed } from './followed-orders.ts';
import type { FollowerCounters } from './follower-counters.ts';
import type { StoredOrNull } from './stored-or-null.ts';
import { createWaker } from './waker.ts';

/**
 * From one round to the next: what is found out meanwhile is stored together, as each commit costs as much as ten changes, and the other
 * connections all that they have at hand of the file.
 */
const roundEveryMs = 100;
/**
 * Changes stored in one go, and how many at most where many wait: beside it new orders are stored, which must not wait for a slot that ends
 * a hundred.
 */
const usualChanges = 8;
const maxChanges = 32;
/** The store is asked again after so long where it failed. */
const storePauseMs = 500;

export interface SettlerOptions {
  readonly orders: Pick<OrderTable, 'advanceAll'>;
  readonly counters: FollowerCounters;
  readonly storedOrNull: StoredOrNull;
  /** Whether it is followed still. */
  readonly holds: (followed: Followed) => boolean;
  /** Its order is another now, or (null) is not in the store any more. */
  readonly onStored: (followed: Followed, outcome: Exclude<AdvanceOutcome, { kind: 'no_such_order' }> | null) => void;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'error'>;
  readonly signal: AbortSignal;
}

/** Stores what the evidence makes of orders, many at once. */
export interface Settler {
  /** There is evidence that says something new. */
  add(followed: Followed): void;
  /** Until `signal` fires. */
  run(): Promise<void>;
}

export function createSettler({ orders, counters, storedOrNull, holds, onStored, clock, log, signal }: SettlerOptions): Settler {
  const waker = createWaker(signal, clock);
  const pace = createWaker(signal, clock);
  /** One place for each order that is followed, at most. */
  let waiting = new Set<Followed>();
  /** Fewer where the store failed: of changes of which it never takes one, that one is left alone in the end. */
  let most = maxChanges;

  function advanceOf(followed: Followed): Advance | null {
    const { order, evidence } = followed;
    if (evidence === null || !holds(followed)) return null;
    const verdict = judge(order, evidence);
    if (verdict.kind === 'contradiction' && !followed.contradicted) {
      followed.contradicted = true;
      counters.contradictions++;
      log.error({ orderId: order.id, state: order.state, evidence: evidence.kind }, 'order_contradicted');
    }
    return verdict.kind === 'change' ? { order, change: verdict.change, atMs: clock.wallMs() } : null;
  }

  /** Those that the store did not take: none, or all of them. */
  async function settleSome(round: Set<Followed>): Promise<readonly Followed[]> {
    const advances: Advance[] = [];
    const changed: Followed[] = [];
    const atOnce = Math.min(most, Math.max(usualChanges, round.size >> 3));
    for (const followed of round) {
      if (advances.length === atOnce) break;
      round.delete(followed);
      const advance = advanceOf(followed);
      if (advance === null) continue;
      advances.push(advance);
      changed.push(followed);
    }
    if (advances.length === 0) return [];
    const outcomes = await storedOrNull(() => orders.advanceAll(advances));
    if (outcomes === null) {
      most = Math.max(1, advances.length >> 1);
      return changed;
    }
    most = Math.min(maxChanges, 2 * most);
    for (const [at, outcome] of outcomes.entries()) onStored(changed[at]!, outcome.kind === 'no_such_order' ? null : outcome);
    return [];
  }

  async function settleAll(): Promise<void> {
    const round = waiting;
    waiting = new Set();
    while (round.size > 0 && !signal.aborted) {
      const failed = await settleSome(round);
      if (failed.length === 0) {
        await turn();
        continue;
      }
      // To the end of the line: what cannot be stored keeps nothing else from being.
      for (const followed of [...round, ...failed]) {
        waiting.delete(followed);
        waiting.add(followed);
      }
      return await pace.wait(storePauseMs);
    }
  }

  return {
    add(followed) {
      waiting.add(followed);
      waker.wake();
    },
    async run() {
      while (!signal.aborted) {
        if (waiting.size === 0) await waker.wait(Infinity);
        // The others of this turn come with it.
        await turn();
        await settleAll();
        await pace.wait(roundEveryMs);
      }
    },
  };
}
