/**
 * The contract between ingest and gateway: one log of entries, ordered and bounded. An implementation gives
 *
 * - every entry a dense `offset` in the log, and every topic of an entry the next `seq` of that topic, atomically
 *   with storing and announcing it: a topic's `seq` is its predecessor's plus one on every subscriber alike;
 * - an `epoch` for each memory that writes the log: a Redis that starts again, or another node in its place, may lack the end of what
 *   was announced before. It continues the log, and its numbers, in a new epoch. Where the log itself is lost, a new epoch begins with
 *   an empty one, and all counters start at 1;
 * - delivery to a subscriber in log order, each entry once; what a connection lost is filled from history; what
 *   history no longer has is reported by `onLost`, never passed over.
 */
export interface BusEntry {
  /** Topics that carry this event, at most 16. */
  readonly topics: readonly string[];
  /** The event, encoded once: UTF-8 JSON. */
  readonly json: Uint8Array;
  /** The same event as MessagePack. */
  readonly msgpack: Uint8Array;
}

export interface TopicSeq {
  readonly topic: string;
  readonly seq: number;
}

export interface LogEntry {
  readonly offset: number;
  readonly topics: readonly TopicSeq[];
  readonly json: Uint8Array;
  readonly msgpack: Uint8Array;
}

export interface BusPublisher {
  /**
   * Appends entries in the order given (their bytes must not change any more); resolves when all are stored and
   * announced. Calls are applied in call order. Rejects (with a `BusError`) when the bus did not take them all: the
   * first `stored` of them are in the log, the others are not and may be published again. Only where it closed
   * (`CLOSED`) with a batch under way is it unknown whether that one was stored. `FENCED`: the lease
   * that the publisher was opened with is no longer in the holding that it was in; it never will be again. A new epoch ends the holding.
   */
  publish(entries: readonly BusEntry[]): Promise<void>;
  /** As `Bus.setStatus`; rejects with `FENCED`, and sets nothing, where the lease is no longer in that holding. */
  setStatus(name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface BusHandlers {
  /** Entries in log order; `replayed` is true for those read from history at start or to fill a hole. */
  onEntry(entry: LogEntry, replayed: boolean): void;
  /**
   * Offsets `from`..`to` (inclusive) can no longer be had; `position()` is right again when this is called. For
   * `epoch` they count in the epoch that ended, as far as it is known what of it is missing (`to` is `from` - 1 where
   * nothing is known to be); `epoch` and `position()` are then those of the new one.
   */
  onLost(lost: Loss): void;
  /** The log goes on in another epoch, and nothing is missing: numbers and `position()` continue. */
  onEpoch?(): void;
  /** The link to the bus went up or down. */
  onLink?(up: boolean): void;
}

export interface Loss {
  readonly from: number;
  readonly to: number;
  readonly reason: 'trimmed' | 'epoch';
  /** The offset before that of the next entry. */
  readonly last: number;
}

/** What the log has of an epoch. */
export interface EpochPlace {
  /** Offset up to which it was written. The numbers up to there are those of the present epoch too. */
  readonly end: number;
  /** Nothing is known to be missing behind it. */
  readonly isWhole: boolean;
}

/** What a subscriber met since its start. */
export interface BusCounters {
  /** Messages that were not of the log's form, and were ignored. */
  readonly malformed: number;
  /** Times that something was missing and the log was read again from where it was. */
  readonly refills: number;
  /** Entries reported by `onLost` as trimmed. */
  readonly lostEntries: number;
  /** Epochs that ended while it followed, with or without a loss. */
  readonly epochChanges: number;
}

export interface BusSubscriber {
  /** Reads the retained history (as replayed entries), then follows the log. Resolves once caught up. */
  start(handlers: BusHandlers): Promise<void>;
  /** Epoch of the log as far as this subscriber has followed it. */
  readonly epoch: string;
  /** What the log has of an epoch, as far as this subscriber has followed it; null where it has nothing of it. */
  placeOf(epoch: string): EpochPlace | null;
  /** The last `seq` of a topic as far as this subscriber has followed the log; 0 where none was ever published. */
  position(topic: string): number;
  readonly counters: BusCounters;
  close(): Promise<void>;
}

/** Small facts that processes tell each other beside the log: last value wins, nothing is replayed. */
export interface BusStatus {
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/**
 * A claim to a name that at most one process holds at a time. It is acquired and renewed in the background until it is
 * closed; a holder that does not answer for itself loses it after its ttl. A holder may learn late that it lost it:
 * what must not be done twice goes through a publisher opened with the lease, which the log itself then refuses.
 */
export interface Lease {
  readonly name: string;
  /** True from a grant until it is lost, closed, or older than it is good for: also before `onChange` is called. */
  readonly held: boolean;
  /** Who holds the name by the last answer; null where it is not known, as before the first and while Redis is away. */
  readonly holder: 'self' | 'other' | null;
  /** Number of the last holding of this claim: above those of all holdings of the name before it. 0 before the first. */
  readonly fence: number;
  /** Calls back when `holder` changed; returns how to stop. If it was lost and won again, both are reported. */
  onChange(listener: () => void): () => void;
  /** Gives up the holding with this fence, which a publisher was refused in, and asks for another. */
  relinquish(fence: number): void;
  /** Gives the name up, so that another may hold it at once. */
  close(): Promise<void>;
}

export interface PublisherOptions {
  /** Binds the publisher to the present holding of a lease: it stores nothing after that. Must be held. */
  readonly lease?: Lease;
}

export interface SubscriberOptions {
  /**
   * Begins behind this position instead of the oldest stored entry if the position belongs to the log; otherwise `onLost` says `epoch` first: with the
   * entry that follows it, some before it (see their offsets), or, if it is gone, the oldest. What it reports of a
   * topic's position is 0 until an entry of the topic came.
   */
  readonly after?: LogPosition;
}

/** A place in the log: behind the entry with this offset. */
export interface LogPosition {
  readonly epoch: string;
  readonly offset: number;
}

/** One connection to the bus; both halves come from it. */
export interface Bus {
  /** Rejects with `FENCED` when the lease given is not held. */
  publisher(options?: PublisherOptions): Promise<BusPublisher>;
  subscriber(options?: SubscriberOptions): Promise<BusSubscriber>;
  /** Claims a name, 1 to `maxLeaseNameLength` characters. `ttlMs`: how long it lasts beyond the last sign of its holder. */
  lease(name: string, ttlMs?: number): Lease;
  /**
   * The newest entries of the log, oldest first; at most `maxEntries`, and `busLimits.maxTailEntries`. All that was
   * stored before the call is in them, as far as the bound reaches.
   */
  tail(maxEntries: number): Promise<readonly LogEntry[]>;
  /** Sets `name` for `ttlMs`; readable by every process through `statuses`. */
  setStatus(name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): Promise<void>;
  /** All statuses that have not expired, by name. */
  statuses(): Promise<readonly BusStatus[]>;
  close(): Promise<void>;
}

/** Bounds of the log. Beyond them the oldest entries are dropped first. */
export const busLimits = {
  /** Entries stored in history: 120 s at 2,000 events a second, and the other entries of the log. */
  maxEntries: 250_000,
  /** Bytes stored in history by the in-process bus. */
  maxBytes: 256 * 1024 * 1024,
  /** Topics with a stored counter. One more begins a new epoch. */
  maxTopics: 1_000_000,
  /** Topics of one entry. */
  maxTopicsPerEntry: 16,
  /** UTF-8 bytes of a topic's name. */
  maxTopicBytes: 255,
  /** JSON and MessagePack of one entry together. */
  maxEntryBytes: 512 * 1024,
  /** Statuses that live at one time; one more is refused. */
  maxStatuses: 256,
  maxStatusNameLength: 128,
  maxStatusBytes: 16 * 1024,
  maxLeaseNameLength: 64,
  /** Entries that `tail` reads. */
  maxTailEntries: 32_768,
} as const;

/** How long a lease lasts beyond the last sign of its holder, if no other time is given. */
export const leaseTtlMs = 1_500;
