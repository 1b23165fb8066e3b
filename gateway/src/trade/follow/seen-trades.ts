import { allTradesTopic } from '@sluice/shared/wire/topics.ts';
import type { LogFollower } from '../../stream/delivery/delivery.ts';
import type { OrderFollower } from './order-follower.ts';

/** Tells a follower of each trade that our own stream has: orders are seen in a block before a node's statuses say so. */
export function seenTrades(follower: Pick<OrderFollower, 'size' | 'seen'>): LogFollower {
  return {
    onEntry: ({ topics }, cell, replayed) => {
      // To read an event costs ten times a look at its topics.
      if (replayed || follower.size === 0 || !topics.some(({ topic }) => topic === allTradesTopic)) return;
      const { event } = cell;
      if (event.type === 'trade' && event.signature !== null) follower.seen(event.signature, event.slot);
    },
    // What the stream did not tell, the nodes' statuses do.
    onLost: () => undefined,
  };
}
