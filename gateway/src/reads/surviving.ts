import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import type { History, StoredEvent } from '../stream/history/history.ts';

export interface SurvivingEvent {
  readonly seq: number;
  readonly offset: number;
  readonly event: Exclude<StreamEvent, { type: 'retract' }>;
  readonly stored: StoredEvent;
}

/**
 * The retained events of a topic that were not retracted, newest first, down to an offset (exclusive). When the iteration is complete,
 * `retracted` holds the ids of retracted events that are older than these.
 */
export function* surviving(
  history: Pick<History, 'newest' | 'oldest' | 'read'>,
  topic: string,
  retracted: Set<string>,
  after = 0,
): Generator<SurvivingEvent> {
  const oldest = Math.max(1, history.oldest(topic));
  for (let seq = history.newest(topic); seq >= oldest; seq--) {
    const stored = history.read(topic, seq);
    if (stored === null || stored.offset <= after) return;
    const event = stored.eventOrNull;
    if (event?.type === 'retract') retracted.add(event.id);
    else if (event !== null && (retracted.size === 0 || !retracted.delete(event.id))) yield { seq, offset: stored.offset, event, stored };
  }
}

/** Ids of events of a topic that were retracted after an offset but published before it. */
export function retractedAfter(history: History, topic: string, after: number): ReadonlySet<string> {
  const retracted = new Set<string>();
  const events = surviving(history, topic, retracted, after);
  while (events.next().done !== true);
  return retracted;
}
