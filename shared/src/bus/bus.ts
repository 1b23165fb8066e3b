import { EventView } from '../codec/event-view.ts';

/**
 * The contract between ingest and gateway: one ordered and bounded log of entries. An implementation guarantees the following.
 *
 * - **Views.** An entry has one view, or two: a trade and its price tick. Its record is stored and announced once. Readers get each view as an
 *   entry of its own, one directly after the other.
 * - **Numbers.** An entry is stored, numbered and announced atomically. The `offset` of a view is that of the previous view plus one, and each of
 *   its topics gets the topic's next `seq`. All subscribers see the same numbers.
 * - **Epochs.** An `epoch` begins when Redis starts, or when a replica takes over. The last announced entries may be missing then. The log
 *   and its numbers continue in the new epoch. If the whole log is lost, the new epoch begins with an empty log, and all counters start at
 *   1.
 * - **Delivery.** A subscriber gets the entries in log order, each once. Entries that a connection lost are read from the history. Entries
 *   that the history no longer has are reported by `onLost`, never skipped silently.
 */
export interface BusEntry {
  /** Topics that carry this event, at most 16. */
  readonly topics: readonly string[];
  /** The event, encoded once (`encodeEvent`), or a trade with its price tick (`encodeTrade`). */
  readonly record: Uint8Array;
  /** Topics that carry the price tick of the record. It is the second view of the entry, with an offset of its own. */
  readonly tickTopics?: readonly string[];
}

export interface TopicSeq {
  readonly topic: string;
  readonly seq: number;
}

/** One view of an entry, as readers of the log get it. */
export class LogEntry extends EventView {
  readonly offset: number;
  readonly topics: readonly TopicSeq[];

  constructor(offset: number, topics: readonly TopicSeq[], record: Uint8Array, view = 0) {
    super(record, view);
    this.offset = offset;
    this.topics = topics;
  }
}

export interface BusPublisher {
  /**
   * Appends entries in this order, after those of earlier calls. Their bytes must not change afterwards. Resolves when all are stored and
   * announced. Rejects with a `BusError` if not all were accepted: the first `stored` of them are in the log, the others are not and may be
   * published again. With `CLOSED`, it is unknown whether the batch that was being sent was stored. `FENCED`: the lease term in which the
   * publisher was opened has ended, and the publisher can store nothing any more. A new epoch also ends the term.
   */
  publish(entries: readonly BusEntry[]): Promise<void>;
  /** Like `Bus.setStatus`. Rejects with `FENCED`, and sets nothing, if the lease term has ended. */
  setStatus(name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface BusHandlers {
  /** Called for each entry in log order. `replayed` is true if it was read from the history, at the start or to fill a gap. */
  onEntry(entry: LogEntry, replayed: boolean): void;
  /**
   * The entries with the offsets `from` to `to` are lost. `position()` is already correct when this is called. With the reason `epoch`, a
   * new epoch has begun: `from` and `to` are offsets of the old epoch, and `epoch` and `position()` are those of the new one. More entries
   * may be missing than are known; if none is known, `to` is `from` - 1.
   */
  onLost(lost: LostEntries): void;
  /** The log continues in another epoch without a loss. Numbers and `position()` continue. */
  onEpoch?(): void;
  /** The connection to the bus was established or lost. */
  onLink?(up: boolean): void;
}

export interface LostEntries {
  readonly from: number;
  readonly to: number;
  readonly reason: 'trimmed' | 'epoch';
  /** The next entry has this offset plus one. */
  readonly last: number;
}

/** How much of an epoch the log contains. */
export interface EpochPlace {
  /** The last retained offset of the epoch. Up to this offset, the current epoch has the same entries with the same numbers. */
  readonly end: number;
  /** True if, as far as is known, the epoch had no entries after `end`. */
  readonly isWhole: boolean;
}

/** What a subscriber has counted since its start. */
export interface BusCounters {
  /** Messages in an unknown form, which were ignored. */
  readonly malformed: number;
  /** Times that an entry was missing and was searched in the log. */
  readonly refills: number;
  /** Entries reported by `onLost` as trimmed. */
  readonly lostEntries: number;
  /** Epochs that ended while it followed the log, with or without a loss. */
  readonly epochChanges: number;
}

export interface BusSubscriber {
  /** Reads the retained history (as replayed entries), then follows the log. Resolves once caught up. */
  start(handlers: BusHandlers): Promise<void>;
  /** Epoch of the log as far as this subscriber has followed it. */
  readonly epoch: string;
  /** How much of an epoch the log contains, as far as this subscriber has followed it; null if it contains nothing of it. */
  placeOf(epoch: string): EpochPlace | null;
  /** The last `seq` of a topic as far as this subscriber has followed the log; 0 if the topic has no entry. */
  position(topic: string): number;
  readonly counters: BusCounters;
  close(): Promise<void>;
}

/** A small value that a process publishes outside the log. The last value wins; earlier ones are not stored. */
export interface BusStatus {
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/**
 * The exclusive right to a name: at most one process holds it at a time. This object requests and renews the lease in the background until
 * it is closed. A holder that does not renew the lease loses it after its ttl, and may notice that late. If something must not happen
 * twice, publish it with a publisher that was opened with the lease: when the term has ended, the log refuses its entries.
 */
export interface Lease {
  readonly name: string;
  /** True while it is held: from a grant until it is lost, closed or expired. It can become false before `onChange` is called. */
  readonly held: boolean;
  /** The holder according to the last answer; null if it is unknown, as before the first answer and while Redis does not answer. */
  readonly holder: 'self' | 'other' | null;
  /** Number of the last term of this process, higher than the numbers of all earlier terms of the name. 0 before the first. */
  readonly fence: number;
  /** Calls the listener when `holder` changes; returns a function that removes it. If the lease was lost and acquired again, both are reported. */
  onChange(listener: () => void): () => void;
  /** Ends the term with this fence, because the log refused its publisher, and requests a new term. */
  relinquish(fence: number): void;
  /** Releases the name, so that another process can hold it at once. */
  close(): Promise<void>;
}

/** One term of a lease. */
export interface LeaseTerm {
  readonly lease: Pick<Lease, 'name' | 'held' | 'fence'>;
  readonly fence: number;
}

export function isHeld({ lease, fence }: LeaseTerm): boolean {
  return lease.held && lease.fence === fence;
}

export interface PublisherOptions {
  /** Binds the publisher to the current term of a lease that this process holds. After the term, the publisher stores nothing. */
  readonly lease?: Lease;
}

export interface SubscriberOptions {
  /**
   * Starts after this position instead of at the oldest stored entry. The subscriber may deliver some earlier entries first; their offsets
   * show it. If the entry after the position is no longer stored, it starts at the oldest one. If the position does not belong to the log,
   * it first calls `onLost` with the reason `epoch`. The position of a topic is 0 until an entry of the topic arrives.
   */
  readonly after?: LogPosition;
}

/** A place in the log: after the entry with this offset. */
export interface LogPosition {
  readonly epoch: string;
  readonly offset: number;
}

/** A connection to the bus, for publishers and subscribers. */
export interface Bus {
  /** Rejects with `FENCED` if the given lease is not held. */
  publisher(options?: PublisherOptions): Promise<BusPublisher>;
  subscriber(options?: SubscriberOptions): Promise<BusSubscriber>;
  /** Requests the lease of a name of 1 to `maxLeaseNameLength` characters. `ttlMs`: how long a term lasts after its last renewal. */
  lease(name: string, ttlMs?: number): Lease;
  /**
   * The newest entries of the log, oldest first, including everything that was stored before the call; at most `maxEntries` and
   * `busLimits.maxTailEntries`.
   */
  tail(maxEntries: number): Promise<readonly LogEntry[]>;
  /**
   * What `read` returns for each of the newest entries, oldest first; at most `maxEntries` and `busLimits.maxEntries`. `read` should keep little
   * of an entry: all entries of the log together do not fit into memory. The order of its calls is not defined.
   */
  readTail<T>(maxEntries: number, read: (entry: LogEntry) => T): Promise<readonly T[]>;
  /** Sets a status for `ttlMs`, at most `maxProcessStatusMs` if its name contains `:`. Every process can read it with `statuses`. */
  setStatus(name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): Promise<void>;
  /** All statuses that have not expired, by name. */
  statuses(): Promise<readonly BusStatus[]>;
  /** What the clock of Redis shows: Unix milliseconds, an integer. Null: the bus is inside this process, and has no clock of its own. */
  timeMs(): Promise<number | null>;
  close(): Promise<void>;
}

/** Bounds of the log. Above these limits, the oldest entries are dropped first. */
export const busLimits = {
  /** Entries in the log: 120 s at 2,000 events per second, and some that are not events. */
  maxEntries: 250_000,
  /** Bytes in the log of the in-process bus. */
  maxBytes: 256 * 1024 * 1024,
  /** Topics with a stored counter. If there were more, a new epoch begins. */
  maxTopics: 1_000_000,
  maxTopicsPerEntry: 16,
  /** UTF-8 bytes of a topic's name. */
  maxTopicBytes: 255,
  /** Bytes of one record. */
  maxEntryBytes: 512 * 1024,
  /** Statuses at one time; one more is refused. */
  maxStatuses: 256,
  maxStatusNameLength: 128,
  maxStatusBytes: 16 * 1024,
  /** How long a status lasts if its name contains `:`, because it is about one process. */
  maxProcessStatusMs: 60_000,
  maxLeaseNameLength: 64,
  /** Entries that `tail` reads. */
  maxTailEntries: 32_768,
} as const;

/** How long a term lasts after its last renewal, if no other time is given. */
export const leaseTtlMs = 1_500;
