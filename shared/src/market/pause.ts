import type { BusEntry, LogEntry } from '../bus/bus.ts';

/**
 * This entry in a candle topic marks that no candles follow for a while, because no client follows the topic any more. It has a `seq` of
 * the topic. So a client whose position is before it learns that it has missed candles. The entry is not an event, and is not sent to
 * clients.
 */
const mark = Buffer.from('{"type":"pause"}');

export function pauseEntry(topic: string): BusEntry {
  return { topics: [topic], record: mark };
}

export function isPause({ record }: Pick<LogEntry, 'record'>): boolean {
  return record.length === mark.length && mark.equals(record);
}
