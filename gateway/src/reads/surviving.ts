import { idIn } from '@sluice/shared/codec/event-searches.ts';
import type { History, StoredEvent } from '../stream/history/history.ts';

const retractHead = Buffer.from('{"type":"retract"');

/** Whether an event as published takes another one back. */
export function isRetract(json: Uint8Array): boolean {
  return retractHead.compare(json, 0, Math.min(json.length, retractHead.length)) === 0;
}

/** The id of an event. All events have one. */
export function idOf(json: Uint8Array): string {
  return idIn(json) ?? '';
}

/**
 * The retained events of a topic that were not taken back, newest first, down to an offset (without it). Ids that are taken back and
 * are not among them stand in `takenBack` once it is through.
 */
export function* surviving(
  history: History,
  topic: string,
  takenBack: Set<string>,
  behind = 0,
): Generator<Pick<StoredEvent, 'offset' | 'json'> & { readonly seq: number }> {
  const oldest = Math.max(1, history.oldest(topic));
  for (let seq = history.newest(topic); seq >= oldest; seq--) {
    const stored = history.read(topic, seq);
    if (stored === null || stored.offset <= behind) return;
    if (isRetract(stored.json)) takenBack.add(idOf(stored.json));
    else if (takenBack.size === 0 || !takenBack.delete(idOf(stored.json))) yield { seq, offset: stored.offset, json: stored.json };
  }
}

/** Ids of older events of a topic that were taken back behind an offset. */
export function takenBackBehind(history: History, topic: string, behind: number): ReadonlySet<string> {
  const takenBack = new Set<string>();
  const events = surviving(history, topic, takenBack, behind);
  while (events.next().done !== true);
  return takenBack;
}
