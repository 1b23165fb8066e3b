import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { SnapshotFrame } from '@sluice/shared/wire/stream/replies.ts';
import type { StreamParts } from '../connections/stream-parts.ts';
import type { CompiledFilter } from '../fanout/filters.ts';
import { LazyEvent } from '../history/lazy-event.ts';
import type { Connection } from '../session/connection.ts';
import type { RequestedTopic } from './requested-topics.ts';

/** Retained events of one topic that are searched for the newest one that passes the filter. */
const maxDepth = 256;
/** Work for each event that is read. */
const workPerEvent = 512;

/** The newest event of each topic that passes the filter. The number of events read is bounded over all topics, and counts as work. */
export function snapshots(
  { fanout, history }: StreamParts,
  connection: Connection,
  requested: readonly RequestedTopic[],
  filter: CompiledFilter | null,
): SnapshotFrame[] {
  const depth = Math.min(maxDepth, Math.floor(streamLimits.snapshotEvents / requested.length));
  const found: SnapshotFrame[] = [];
  let read = 0;
  for (const { topic } of requested) {
    const newest = filter?.confirmed === true ? fanout.position(topic, true) : history.newest(topic);
    const after = Math.max(history.lastPause(topic), newest - depth);
    for (let seq = newest; seq > after; seq--) {
      const stored = history.read(topic, seq);
      if (stored === null) break;
      read++;
      const lazy = new LazyEvent(stored);
      if (!lazy.isReadable || (filter !== null && !lazy.passes(filter))) continue;
      found.push({ topic, seq, data: lazy.event });
      break;
    }
  }
  connection.session.charge(read * workPerEvent);
  return found;
}
