import type { EventOf, Gap, Position, Subscription, SubscribeOptions } from '@sluice/client';
import { sluice } from '../state/server.ts';

type LiveChannel = 'newTokens' | 'trades' | 'migrations';

export interface RecentOptions<C extends LiveChannel> extends Pick<SubscribeOptions<C>, 'onStatus' | 'onError'> {
  /** How many events of the past come first, as far as the gateway retains them. */
  readonly past: number;
  /** `isPast`: the event was published before the page followed the channel. */
  readonly onEvent: (event: EventOf<C>, isPast: boolean) => void;
  /** Events after the page began to follow the channel are missing. */
  readonly onGap: (gap: Gap) => void;
}

/**
 * Follows a channel from a place in its recent past. A position names an epoch, so the current one must be known first: a first subscription
 * returns it, and a second one resumes before it. Returns a function that ends it.
 */
export function followRecent<C extends LiveChannel>(channel: C, { past, onEvent, onGap, onStatus, onError }: RecentOptions<C>): () => void {
  let current: Pick<Subscription<C>, 'close'>;
  const followFrom = ({ epoch, seq }: Position): void => {
    const isPast = (at: Position | undefined): boolean => at?.epoch === epoch && at.seq <= seq;
    const resumed: Subscription<C> = sluice.subscribe<C>(channel, {
      since: { [channel]: { epoch, seq: Math.max(0, seq - past) } },
      onEvent: (event) => onEvent(event, isPast(resumed.received[channel])),
      // The gateway may retain less than was requested.
      onGap: (gap) => {
        if (!isPast({ epoch: gap.epoch, seq: gap.from })) onGap(gap);
      },
      ...(onStatus !== undefined && { onStatus }),
      ...(onError !== undefined && { onError }),
    });
    current = resumed;
  };
  const first: Subscription<C> = sluice.subscribe<C>(channel, {
    onEvent: () => undefined,
    onStatus: (status) => {
      const position = first.received[channel];
      if (status.state !== 'live' || position === undefined) return onStatus?.(status);
      first.close();
      followFrom(position);
    },
    ...(onError !== undefined && { onError }),
  });
  current = first;
  return () => current.close();
}
