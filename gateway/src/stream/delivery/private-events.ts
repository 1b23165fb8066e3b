import type { BusEntry, LogEntry } from '@sluice/shared/bus/bus.ts';
import type { EncodedEvent } from '@sluice/shared/wire/codec.ts';
import { ordersPrefix } from '@sluice/shared/wire/topics.ts';
import { sealBytes, type RecordSeal } from '../../auth/record-seal.ts';

/** A sealed event is taken for so long after it was published: longer than a log is kept in any use. */
const goodForMs = 24 * 3_600_000;
const endBytes = 6;
const trailerBytes = endBytes + sealBytes;

/** Events that belong to one API key, on their way over the bus. */
export interface PrivateEvents {
  /** The entry that carries an event to the followers of `topic` alone. */
  entry(topic: string, event: EncodedEvent): BusEntry;
  /** The event as it was published; null where it is not one of ours for its topic. */
  open(entry: LogEntry): LogEntry | null;
}

/** Whether an entry claims to be one of a key's own events: everybody else's pass unread. */
export function isPrivate({ topics }: Pick<LogEntry, 'topics'>): boolean {
  for (let i = 0; i < topics.length; i++) if (topics[i]!.topic.startsWith(ordersPrefix)) return true;
  return false;
}

/** On the bus of one process nobody comes in between. */
export const unsealedEvents: PrivateEvents = {
  entry: (topic, { json, msgpack }) => ({ topics: [topic], json, msgpack }),
  open: (entry) => entry,
};

/** Over Redis: behind the MessagePack stand the event's end (u48, Unix milliseconds) and the seal over both forms and the topic. */
export function sealedEvents(seal: RecordSeal, now: () => number = Date.now): PrivateEvents {
  return {
    entry: (topic, { json, msgpack }) => {
      const endsAtMs = now() + goodForMs;
      const trailer = Buffer.alloc(trailerBytes);
      trailer.writeUIntBE(endsAtMs, 0, endBytes);
      trailer.set(seal.of('private event', topic, endsAtMs, json, msgpack), endBytes);
      return { topics: [topic], json, msgpack: Buffer.concat([msgpack, trailer]) };
    },
    open: (entry) => {
      const { topics, json, msgpack } = entry;
      const at = Math.max(0, msgpack.length - trailerBytes);
      const event = msgpack.subarray(0, at);
      const trailer = Buffer.from(msgpack.subarray(at));
      const endsAtMs = trailer.length === trailerBytes ? trailer.readUIntBE(0, endBytes) : 0;
      // An event of a key has no other topic: nobody else may follow it.
      const topic = topics.length === 1 ? topics[0]!.topic : '';
      const isOurs = seal.check(trailer.subarray(endBytes), now(), 'private event', topic, endsAtMs, json, event);
      return isOurs ? { ...entry, msgpack: event } : null;
    },
  };
}
