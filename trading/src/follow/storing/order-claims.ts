import { maxClockDifferenceMs } from '@sluice/shared/runtime/clock/agreed-time.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { maxOrderRows } from '@sluice/gateway/store/sql/tables/orders/order-rows.ts';
import type { FollowingGateway } from '@sluice/gateway/store/sql/tables/orders/order-claims.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { endStates, type StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { FollowerCounters } from '../followed-orders.ts';
import { maxFollowed, type FollowedOrders } from '../followed-orders.ts';
import type { TryStore } from './change-writer.ts';
import { createWaker } from '../thread/waker.ts';

/** How often the claim on the orders is renewed, and how long it lasts. After that another gateway takes the orders over. */
const claimEveryMs = 4_000;
const claimMs = 15_000;
/** An order of this gateway that is this old and not followed was forgotten: the store did not answer its insert, or there was no room. */
const forgottenAfterMs = 10_000;
/** Stored orders that are compared with the followed ones at each renewal, in turn. */
const idsARound = 200;

export interface OrderClaimsOptions {
  readonly orders: Pick<OrderTable, 'byId' | 'claim' | 'openIdsOf' | 'openOf' | 'release'>;
  readonly gateway: FollowingGateway;
  /** `followAll` treats the claims of all other gateways as expired, because those gateways do not trade any more. */
  readonly takesOverAtOnce: boolean;
  /**
   * When this gateway began to place orders, Unix milliseconds. An order that was created after that may be stored while its line of the
   * audit log is not on the disk yet. So `followAll` leaves it to the request that places it. Null: `followAll` follows all orders.
   */
  readonly placesSinceMs: number | null;
  readonly followed: Pick<FollowedOrders, 'has' | 'hasRoom' | 'size'>;
  /** Returns false if there is no room. */
  readonly followStored: (order: StoredOrder) => boolean;
  readonly counters: FollowerCounters;
  readonly tryStore: TryStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Claims the stored orders that this gateway must follow: its own, those that other gateways left, and those that it forgot. */
export function createOrderClaims(options: OrderClaimsOptions) {
  const { orders, gateway, takesOverAtOnce, placesSinceMs, followed, followStored, counters, tryStore, clock, log, signal } = options;
  let checkedUpTo: string | null = null;

  /** An order from the far future was placed earlier, by a clock that was ahead. The clocks of two threads differ by a little. */
  function isBeingPlaced({ createdAtMs }: StoredOrder): boolean {
    return placesSinceMs !== null && createdAtMs > placesSinceMs && createdAtMs <= clock.wallMs() + maxClockDifferenceMs;
  }

  async function claim(fromAll = false): Promise<void> {
    const nowMs = clock.wallMs();
    const limit = Math.min(maxOrderRows, Math.max(1, maxFollowed - followed.size));
    const claimed = await orders.claim({ ...gateway, nowMs, untilMs: nowMs + claimMs, limit, fromAll });
    for (const order of claimed) if (followStored(order)) counters.takenOver++;
    if (claimed.length > 0) log.info({ orders: claimed.length }, 'orders_taken_over');
  }

  /** Follows forgotten orders of this gateway. Each call checks the next page, because the store may have an order whose insert it did not answer. */
  async function followForgotten(): Promise<void> {
    if (!followed.hasRoom) return;
    const page = await orders.openIdsOf(gateway, checkedUpTo, idsARound);
    checkedUpTo = page.length < idsARound ? null : page.at(-1)!.id;
    const before = clock.wallMs() - forgottenAfterMs;
    let found = 0;
    for (const { id, createdAtMs } of page) {
      if (createdAtMs >= before || followed.has(id)) continue;
      const order = await orders.byId(id);
      if (order !== null && !endStates.has(order.state) && followStored(order)) found++;
    }
    counters.forgotten += found;
    if (found > 0) log.warn({ orders: found }, 'orders_were_forgotten');
  }

  return {
    /** Follows all open orders of this gateway, and those that others left. Rejects if the store cannot be read. */
    async followAll(): Promise<void> {
      for (let after: string | null = null; ;) {
        const page: readonly StoredOrder[] = await orders.openOf(gateway, after, maxOrderRows);
        for (const order of page) if (!isBeingPlaced(order)) followStored(order);
        after = page.at(-1)?.id ?? null;
        if (after === null || !followed.hasRoom) break;
      }
      await claim(takesOverAtOnce);
    },
    /** Renews the claim and follows more orders, until `signal` fires. */
    async run(): Promise<void> {
      const waker = createWaker(signal, clock);
      for (;;) {
        await waker.wait(claimEveryMs);
        if (signal.aborted) return;
        await tryStore(async () => {
          await claim();
          await followForgotten();
        });
      }
    },
  };
}
