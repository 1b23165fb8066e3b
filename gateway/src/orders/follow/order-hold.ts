import type { Clock } from '@sluice/shared/clock/clock.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import { maxOrderRows, type FollowingGateway, type OrderTable } from '../../store/order-table.ts';
import { endStates, type StoredOrder } from '../model/order.ts';
import type { FollowerCounters } from './follower-counters.ts';
import { maxFollowed, type FollowedOrders } from './followed-orders.ts';
import type { StoredOrNull } from './stored-or-null.ts';
import { createWaker } from './waker.ts';

/** How often the hold on the orders is renewed, and how long it lasts: another gateway takes them over after that. */
const claimEveryMs = 4_000;
const holdMs = 15_000;
/** An order of ours that is as old and not followed was forgotten: its insert was not answered, or there was no room. */
const forgottenAfterMs = 10_000;
/** Orders of the store's that are held against those that are followed at each renewal, in turn. */
const lookedUp = 200;

export interface OrderHoldOptions {
  readonly orders: Pick<OrderTable, 'byId' | 'claim' | 'openIdsOf' | 'openOf' | 'release'>;
  readonly gateway: FollowingGateway;
  /** `takeUpAll` counts the holds of all other gateways as expired: their gateways do not trade any more. */
  readonly succeeds: boolean;
  readonly followed: Pick<FollowedOrders, 'has' | 'hasRoom' | 'size'>;
  /** Whether it had room. */
  readonly takeUp: (order: StoredOrder) => boolean;
  readonly counters: FollowerCounters;
  readonly storedOrNull: StoredOrNull;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Which orders of the store are this gateway's to follow: those that it held, those that others left, those that were forgotten. */
export interface OrderHold {
  /** Takes up all that this gateway held before, and what others left. Rejects where the store cannot be read. */
  takeUpAll(): Promise<void>;
  /** Renews the hold, and looks for more to take up, until `signal` fires. */
  run(): Promise<void>;
}

export function createOrderHold(options: OrderHoldOptions): OrderHold {
  const { orders, gateway, succeeds, followed, takeUp, counters, storedOrNull, clock, log, signal } = options;
  let lookedUpTo: string | null = null;

  async function claim(aheadMs = 0): Promise<void> {
    const nowMs = clock.wallMs() + aheadMs;
    const limit = Math.min(maxOrderRows, Math.max(1, maxFollowed - followed.size));
    const taken = await orders.claim({ ...gateway, nowMs, untilMs: nowMs + holdMs, limit });
    for (const order of taken) if (takeUp(order)) counters.takenOver++;
    if (taken.length > 0) log.info({ orders: taken.length }, 'orders_taken_over');
  }

  /** Some of what the store has as followed by this gateway, in turn: an order whose insert nobody answered may be there. */
  async function takeUpForgotten(): Promise<void> {
    if (!followed.hasRoom) return;
    const page = await orders.openIdsOf(gateway, lookedUpTo, lookedUp);
    lookedUpTo = page.length < lookedUp ? null : page.at(-1)!.id;
    const before = clock.wallMs() - forgottenAfterMs;
    let found = 0;
    for (const { id, createdAtMs } of page) {
      if (createdAtMs >= before || followed.has(id)) continue;
      const order = await orders.byId(id);
      if (order !== null && !endStates.has(order.state) && takeUp(order)) found++;
    }
    counters.forgotten += found;
    if (found > 0) log.warn({ orders: found }, 'orders_were_forgotten');
  }

  return {
    async takeUpAll() {
      for (let after: string | null = null; ;) {
        const page: readonly StoredOrder[] = await orders.openOf(gateway, after, maxOrderRows);
        for (const order of page) takeUp(order);
        after = page.at(-1)?.id ?? null;
        if (after === null || !followed.hasRoom) break;
      }
      await claim(succeeds ? holdMs : 0);
    },
    async run() {
      const waker = createWaker(signal, clock);
      for (;;) {
        await waker.wait(claimEveryMs);
        if (signal.aborted) return;
        await storedOrNull(async () => {
          await claim();
          await takeUpForgotten();
        });
      }
    },
  };
}
