import { idIn } from '@sluice/shared/codec/json-search.ts';
import type { History, StoredEvent } from '../stream/history/history.ts';

const retractHead = Buffer.from('{"type":"retract"');

export function isRetract(json: Uint8Array): boolean {
  return retractHead.compare(json, 0, Math.min(json.length, retractHead.length)) === 0;
}

/** The id of an event; every event has one. */
export function idOf(json: Uint8Array): string {
  return idIn(json) ?? '';
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
): Generator<Pick<StoredEvent, 'offset' | 'json'> & { readonly seq: number }> {
  const oldest = Math.max(1, history.oldest(topic));
  for (let seq = history.newest(topic); seq >= oldest; seq--) {
    const stored = history.read(topic, seq);
    if (stored === null || stored.offset <= after) return;
    if (isRetract(stored.json)) retracted.add(idOf(stored.json));
    else if (retracted.size === 0 || !retracted.delete(idOf(stored.json))) yield { seq, offset: stored.offset, json: stored.json };
  }
}

/** Ids of events of a topic that were retracted after an offset but published before it. */
export function retractedAfter(history: History, topic: string, after: number): ReadonlySet<string> {
  const retracted = new Set<string>();
  const events = surviving(history, topic, retracted, after);
  while (events.next().done !== true);
  return retracted;
}
