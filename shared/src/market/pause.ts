import type { BusEntry, LogEntry } from '../bus/bus.ts';

/**
 * What stands in the log of a candle topic where its candles end because nobody follows them any more. Readers of the topic
 * who were before it have missed candles, as a number of the topic tells them; it is no event, and reaches no client.
 */
const mark = Buffer.from('{"type":"pause"}');

export function pauseEntry(topic: string): BusEntry {
  return { topics: [topic], json: mark, msgpack: mark };
}

export function isPause({ json }: Pick<LogEntry, 'json'>): boolean {
  return json.length === mark.length && mark.equals(json);
}
