import type { Advance } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { FollowedOrders, type Followed } from '../../trading/src/follow/followed-orders.ts';
import { noFollowerCounts } from '../../trading/src/follow/followed-orders.ts';
import { ChangeWriter } from '../../trading/src/follow/storing/change-writer.ts';
import { createTryStore } from '../../trading/src/follow/storing/change-writer.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { expect, test } from 'vitest';
import { fastClock } from '../support/clocks.ts';
import { until } from '../support/gateway.ts';
import { newOrder } from '../support/orders.ts';

/** A failure of the store is followed by a pause of half a second. */
const clock = fastClock(10);
const log = createLog({ level: 'silent', name: 'test' });

test('an order whose change the store never accepts does not prevent others from being stored', async () => {
  const closing = new AbortController();
  const followedOrders = new FollowedOrders(1, clock);
  const counters = { ...noFollowerCounts };
  const stored = new Set<string>();
  const writer = new ChangeWriter({
    orders: {
      advanceAll: async (advances: readonly Advance[]) => {
        if (advances.some(({ order }) => order.id === 'order-7')) throw new Error('stored in a way that this version does not know');
        return advances.map(({ order, change }) => ({ kind: 'advanced', order: { ...order, ...change, version: order.version + 1 } }));
      },
    },
    counters,
    tryStore: createTryStore(counters, log),
    isFollowed: () => true,
    onStored: (followed: Followed) => stored.add(followed.order.id),
    clock,
    log,
    signal: closing.signal,
  });
  const running = writer.run();
  for (let i = 0; i < 100; i++) {
    const followed = followedOrders.add({ ...newOrder(1, { id: `order-${i}` }), updatedAtMs: 1, version: 1 });
    followed.evidence = { kind: 'landed', commitment: 'processed', error: null, fill: null };
    writer.add(followed);
  }
  await until('all but one to be stored', async () => stored.size === 99);
  expect(stored).not.toContain('order-7');
  expect(counters.storeFailures).toBeGreaterThan(1);
  closing.abort();
  await running;
});
