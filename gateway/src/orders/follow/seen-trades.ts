import { allTradesTopic } from '@sluice/shared/wire/topics.ts';
import type { LogFollower } from '../../stream/delivery/delivery.ts';
import type { OrderFollower } from './order-follower.ts';

/** Passes each trade of our own stream to the order follower. It shows that an order is in a block before the statuses of the nodes do. */
export function seenTrades(follower: Pick<OrderFollower, 'size' | 'seen'>): LogFollower {
  return {
    onEntry: ({ topics }, lazy, replayed) => {
      // Parsing an event costs ten times as much as looking at its topics.
      if (replayed || follower.size === 0 || !topics.some(({ topic }) => topic === allTradesTopic)) return;
      const { event } = lazy;
      if (event.type === 'trade' && event.signature !== null) follower.seen(event.signature, event.slot);
    },
    // The statuses of the nodes report what the stream has lost.
    onLost: () => undefined,
  };
}
