import type { BusEntry, LogEntry } from '../bus/bus.ts';

/**
 * The entry in the log of a candle topic that says: the candles end here, because no client follows them any more. A reader with an earlier
 * position has missed candles; the entry's number in the topic shows that. It is not an event, and is not sent to clients.
 */
const mark = Buffer.from('{"type":"pause"}');

export function pauseEntry(topic: string): BusEntry {
  return { topics: [topic], json: mark, msgpack: mark };
}

export function isPause({ json }: Pick<LogEntry, 'json'>): boolean {
  return json.length === mark.length && mark.equals(json);
}
