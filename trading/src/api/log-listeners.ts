import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { allTradesTopic, newTokensTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import type { LogListener } from '@sluice/gateway/stream/delivery/delivery.ts';
import type { ThreadedFollower } from '../follow/thread/threaded-follower.ts';
import type { Markets } from '../quote/markets.ts';

/** Follows the accounts of every new coin for a while, so that the first order does not wait for a read. A lost one is read when it is requested. */
export function warmNewTokens(markets: Pick<Markets, 'warm'>, venues: readonly Venue[]): LogListener {
  const traded = new Set(venues.filter(({ quoting }) => quoting !== null).map(({ name }) => name));
  return newEventsOf(newTokensTopic, (event) => {
    if (event.type === 'newToken' && traded.has(event.pool)) markets.warm(event.mint);
  });
}

/** Passes each trade to the order follower, which then asks the nodes at once. Their statuses report what the stream has lost. */
export function seenTrades(follower: Pick<ThreadedFollower, 'size' | 'seen'>): LogListener {
  const isFollowing = (): boolean => follower.size > 0;
  return newEventsOf(
    allTradesTopic,
    (event) => {
      if (event.type === 'trade' && event.signature !== null) follower.seen(event.signature);
    },
    isFollowing,
  );
}

/** The live events of one topic. Parsing an event costs ten times as much as looking at its topics. */
function newEventsOf(of: string, onEvent: (event: StreamEvent) => void, isWanted = (): boolean => true): LogListener {
  return {
    onEntry: ({ topics }, lazy, replayed) => {
      if (!replayed && isWanted() && topics.some(({ topic }) => topic === of)) onEvent(lazy.event);
    },
    onLost: () => undefined,
  };
}
