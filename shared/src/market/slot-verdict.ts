import type { BusEntry, LogEntry } from '../bus/bus.ts';

/**
 * What ingest writes into the log, behind the events of a slot, once it is known whether the slot lives: for those who wait until it
 * is confirmed. It is no event, and reaches no client.
 */
export interface SlotVerdict {
  /** Confirmed. */
  readonly alive: readonly number[];
  readonly dead: readonly number[];
}

/** No channel has such a topic. */
const verdictTopic = '~slots';

export function verdictEntry({ alive, dead }: SlotVerdict): BusEntry {
  const bytes = Buffer.from(JSON.stringify({ type: 'slots', alive, dead }));
  return { topics: [verdictTopic], json: bytes, msgpack: bytes };
}

/** Null for an entry that is none. */
export function readVerdict({ topics, json }: Pick<LogEntry, 'topics' | 'json'>): SlotVerdict | null {
  if (topics[0]?.topic !== verdictTopic) return null;
  return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString()) as SlotVerdict;
}
