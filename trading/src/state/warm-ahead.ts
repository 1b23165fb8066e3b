import { newTokensTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import type { LogListener } from '@sluice/gateway/stream/delivery/delivery.ts';
import type { HotState } from './hot-state.ts';

/** Follows the accounts of every new coin for a while, so that the first order does not wait for a read. */
export function warmNewTokens({ markets }: Pick<HotState, 'markets'>, venues: readonly Venue[]): LogListener {
  const traded = new Set(venues.filter(({ quoting }) => quoting !== null).map(({ name }) => name));
  return {
    onEntry(entry, lazy, replayed) {
      if (replayed || !entry.topics.some(({ topic }) => topic === newTokensTopic)) return;
      const { event } = lazy;
      if (event.type === 'newToken' && traded.has(event.pool)) markets.warm(event.mint);
    },
    onLost() {
      // A lost new coin is read when it is requested.
    },
  };
}
