import { LogEntry, type BusEntry } from '@sluice/shared/bus/bus.ts';
import { ordersPrefix } from '@sluice/shared/wire/stream/topics.ts';
import { sealBytes, type RecordSeal } from '../../auth/record-seal.ts';

/** A sealed event is valid for this long after its publication: longer than any log is retained. */
const validForMs = 24 * 3_600_000;
const endBytes = 6;
const trailerBytes = endBytes + sealBytes;

/** Events that belong to one API key, on the bus. */
export interface PrivateEvents {
  /** The entry that carries the record of an event to the followers of `topic` alone. */
  entry(topic: string, record: Uint8Array): BusEntry;
  /** The event as it was published; null if no gateway sealed it for its topic. */
  open(entry: LogEntry): LogEntry | null;
}

/** Whether an entry claims to be an event of one key. All other entries need no seal. */
export function isPrivate({ topics }: Pick<LogEntry, 'topics'>): boolean {
  for (let i = 0; i < topics.length; i++) if (topics[i]!.topic.startsWith(ordersPrefix)) return true;
  return false;
}

/** For the bus inside one process, where no one else can publish. */
export const unsealedEvents: PrivateEvents = { entry: (topic, record) => ({ topics: [topic], record }), open: (entry) => entry };

/** For Redis: the expiry of the event (u48, Unix milliseconds) and the seal over record and topic follow the record. */
export function sealedEvents(seal: RecordSeal): PrivateEvents {
  return {
    entry: (topic, record) => {
      const endsAtMs = seal.expiryAfter(validForMs);
      const trailer = Buffer.alloc(trailerBytes);
      trailer.writeUIntBE(endsAtMs, 0, endBytes);
      trailer.set(seal.of('private event', topic, endsAtMs, record), endBytes);
      return { topics: [topic], record: Buffer.concat([record, trailer]) };
    },
    open: ({ offset, topics, record }) => {
      const at = Math.max(0, record.length - trailerBytes);
      const event = record.subarray(0, at);
      const trailer = Buffer.from(record.subarray(at));
      const endsAtMs = trailer.length === trailerBytes ? trailer.readUIntBE(0, endBytes) : 0;
      // A private event has one topic, so that no other key can follow it.
      const topic = topics.length === 1 ? topics[0]!.topic : '';
      const isValid = seal.check(trailer.subarray(endBytes), 'private event', topic, endsAtMs, event);
      return isValid ? new LogEntry(offset, topics, event) : null;
    },
  };
}
