import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import { isLater } from '@sluice/shared/bus/epoch.ts';
import type { Gap } from '@sluice/shared/wire/stream/replies.ts';
import { slotLossGap, type History } from '../history/history.ts';

/** A client's `since` may be ahead of a gateway that lags another one by this many frames. */
const maxAhead = 65_536;

/** Where a subscription begins, and what the client has lost before it. */
export interface ResumePoint {
  /** The first frame is the one after this `seq`. */
  readonly after: number;
  /** Epoch of that `seq`. It can be later than the epoch of this gateway, if the previous gateway of the client was ahead. */
  readonly epoch: string;
  readonly recovered: boolean;
  readonly gap: Gap | null;
}

export interface ResumeParts {
  readonly bus: Pick<BusSubscriber, 'epoch' | 'placeOf'>;
  readonly history: History;
}

interface ClientPosition {
  readonly epoch: string;
  readonly seq: number;
}

/** The `seq` after which the last `count` frames of a topic begin; fewer if fewer are retained. `current` is its last published frame. */
export function pastPoint(parts: ResumeParts, topic: string, count: number, current: number): number {
  return Math.min(current, Math.max(retainedAfter(parts, topic, current).after, current - count));
}

/** Every frame of a topic after `after` is retained, and every frame after `trimmedTo` was not trimmed. */
function retainedAfter({ history }: ResumeParts, topic: string, current: number): { trimmedTo: number; after: number } {
  const oldest = history.oldest(topic);
  // If entries were lost and no entry of this topic has followed yet, nothing is retained.
  const trimmedTo = oldest === 0 || history.newest(topic) < current ? current : oldest - 1;
  return { trimmedTo, after: Math.max(trimmedTo, history.lastPause(topic)) };
}

/** Finds where a client with the position `since` resumes a topic whose last published frame is `current`. */
export function resumePoint(parts: ResumeParts, topic: string, since: ClientPosition, current: number): ResumePoint {
  const point = resumeFrames(parts, topic, since, current);
  // A client that has missed no frame may still have missed the report of lost slots.
  const loss = point.recovered && point.epoch === parts.bus.epoch ? parts.history.lossSince(topic, point.after) : null;
  return loss === null ? point : { ...point, recovered: false, gap: slotLossGap(topic, point.after + 1, loss, parts.bus.epoch) };
}

function resumeFrames(parts: ResumeParts, topic: string, since: ClientPosition, current: number): ResumePoint {
  const { bus, history } = parts;
  const { trimmedTo, after: oldest } = retainedAfter(parts, topic, current);
  const { epoch } = bus;
  const lost = (after: number, to: number | null, reason: Gap['reason'], from = since.seq + 1): ResumePoint => ({
    after,
    epoch,
    recovered: false,
    gap: { op: 'gap', topic, from, to, reason, epoch },
  });
  if (since.epoch !== epoch) {
    if (isLater(since.epoch, epoch)) return { after: since.seq, epoch: since.epoch, recovered: true, gap: null };
    const place = bus.placeOf(since.epoch);
    const last = place === null ? null : history.lastUpTo(topic, place.end, current);
    // Up to `last` the numbers are the same in both epochs.
    if (last === null || since.seq > last) return lost(Math.max(oldest, last ?? 0), null, 'epoch');
    if (place?.isWhole === false) return lost(Math.max(oldest, since.seq), null, 'epoch');
  }
  if (since.seq > current + maxAhead) return lost(current, null, 'ahead', current + 1);
  if (since.seq < oldest) return lost(oldest, oldest, since.seq < trimmedTo ? 'trimmed' : 'unwatched');
  return { after: since.seq, epoch, recovered: true, gap: null };
}
