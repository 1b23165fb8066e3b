import { allTradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { LogListener } from '@sluice/gateway/stream/delivery/delivery.ts';
import type { OrderFollower } from './order-follower.ts';

/** Passes each trade of our own stream to the order follower, which then asks the nodes at once. */
export function seenTrades(follower: Pick<OrderFollower, 'size' | 'seen'>): LogListener {
  return {
    onEntry: ({ topics }, lazy, replayed) => {
      // Parsing an event costs ten times as much as looking at its topics.
      if (replayed || follower.size === 0 || !topics.some(({ topic }) => topic === allTradesTopic)) return;
      const { event } = lazy;
      if (event.type === 'trade' && event.signature !== null) follower.seen(event.signature);
    },
    // The statuses of the nodes report what the stream has lost.
    onLost: () => undefined,
  };
}
