import {
  busLimits,
  type Bus,
  type BusEntry,
  type BusHandlers,
  type BusPublisher,
  type BusStatus,
  type BusSubscriber,
  type Lease,
  type LogEntry,
  type EpochPlace,
  type LogPosition,
  type PublisherOptions,
  type SubscriberOptions,
} from '../bus.ts';
import { BusError, closedError, fencedError, tooManyStatuses } from '../bus-error.ts';
import { checkEntry, statusText } from '../entry-checks.ts';
import { InProcessLeases } from './in-process-leases.ts';
import { InProcessLog, type InProcessLimits } from './in-process-log.ts';

/** How long one turn of delivery may take before it yields to the event loop. */
const sliceMs = 8;
/** Entries between two checks of the time. */
const sliceCheckEntries = 64;

/**
 * The bus inside one process, with the guarantees of the bus on Redis. The log is bounded by entries and bytes, and the oldest are dropped
 * first. A subscriber that lags so far behind that it misses them gets `onLost`. Delivery happens in separate turns of the event loop: never
 * inside `publish`, and never during another delivery to the same subscriber.
 */
export function createInProcessBus(limits: Partial<InProcessLimits> = {}): Bus {
  return new InProcessBus(new InProcessLog(limits));
}

class InProcessBus implements Bus {
  readonly #log: InProcessLog;
  readonly #subscribers = new Set<InProcessSubscriber>();
  readonly #leases = new InProcessLeases();
  readonly #statuses = new Map<string, { readonly text: string; readonly expiresAtMs: number }>();
  #turn: Promise<void> | null = null;
  #closed = false;

  constructor(log: InProcessLog) {
    this.#log = log;
  }

  async publisher({ lease }: PublisherOptions = {}): Promise<BusPublisher> {
    this.#assertOpen();
    if (lease !== undefined && !lease.held) throw fencedError(lease.name);
    const fence = lease?.fence;
    const { epoch } = this.#log;
    let open = true;
    return {
      publish: async (entries: readonly BusEntry[]): Promise<void> => {
        if (!open || this.#closed) throw closedError();
        for (const entry of entries) checkEntry(entry);
        if (lease !== undefined && this.#leases.fenceOf(lease.name) !== fence) throw fencedError(lease.name);
        for (const entry of entries) this.#log.append(entry);
        if (lease !== undefined && this.#log.epoch !== epoch) this.#leases.renew(lease.name);
        for (const subscriber of this.#subscribers) subscriber.wake();
        await this.#nextTurn();
      },
      setStatus: async (name, value, ttlMs): Promise<void> => {
        if (!open) throw closedError();
        if (lease !== undefined && this.#leases.fenceOf(lease.name) !== fence) throw fencedError(lease.name);
        await this.setStatus(name, value, ttlMs);
      },
      close: async (): Promise<void> => {
        open = false;
      },
    };
  }

  /** Awaiting `publish` lets the subscribers run between two calls, as with Redis. */
  #nextTurn(): Promise<void> {
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = null;
        resolve();
      });
    });
    return this.#turn;
  }

  async subscriber({ after }: SubscriberOptions = {}): Promise<BusSubscriber> {
    this.#assertOpen();
    const subscriber = new InProcessSubscriber(this.#log, () => this.#subscribers.delete(subscriber), after);
    this.#subscribers.add(subscriber);
    return subscriber;
  }

  lease(name: string): Lease {
    this.#assertOpen();
    return this.#leases.claim(name);
  }

  tail(maxEntries: number): Promise<readonly LogEntry[]> {
    return this.readTail(Math.min(maxEntries, busLimits.maxTailEntries), (entry) => entry);
  }

  async readTail<T>(maxEntries: number, read: (entry: LogEntry) => T): Promise<readonly T[]> {
    this.#assertOpen();
    return this.#log.tail(Math.min(maxEntries, busLimits.maxEntries), read);
  }

  async setStatus(name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): Promise<void> {
    this.#assertOpen();
    const text = statusText(name, value, ttlMs);
    const nowMs = performance.now();
    for (const [other, { expiresAtMs }] of this.#statuses) if (expiresAtMs <= nowMs) this.#statuses.delete(other);
    if (!this.#statuses.has(name) && this.#statuses.size >= busLimits.maxStatuses) {
      throw tooManyStatuses();
    }
    this.#statuses.set(name, { text, expiresAtMs: nowMs + ttlMs });
  }

  async statuses(): Promise<readonly BusStatus[]> {
    this.#assertOpen();
    const nowMs = performance.now();
    const alive = [...this.#statuses].filter(([, { expiresAtMs }]) => expiresAtMs > nowMs);
    alive.sort(([a], [b]) => (a < b ? -1 : 1));
    return alive.map(([name, { text }]) => ({ name, value: JSON.parse(text) as Record<string, unknown> }));
  }

  async timeMs(): Promise<null> {
    this.#assertOpen();
    return null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#subscribers].map((subscriber) => subscriber.close()));
    this.#leases.close();
    this.#statuses.clear();
    this.#log.clear();
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError();
  }
}

class InProcessSubscriber implements BusSubscriber {
  epoch: string;
  readonly counters = { malformed: 0, refills: 0, lostEntries: 0, epochChanges: 0 };
  readonly #log: InProcessLog;
  readonly #forget: () => void;
  readonly #after: LogPosition | undefined;
  #positions = new Map<string, number>();
  #handlers: BusHandlers | null = null;
  #turn: NodeJS.Immediate | null = null;
  #caughtUp: { readonly resolve: () => void; readonly reject: (error: BusError) => void } | null = null;
  #closed = false;
  /** Index of the next entry to deliver. */
  #next = 0;
  /** Offset of the last entry delivered or reported as lost. */
  #last = 0;
  /** Entries below this index were in the log before the start. */
  #liveFrom = 0;

  constructor(log: InProcessLog, forget: () => void, after?: LogPosition) {
    this.#log = log;
    this.#forget = forget;
    this.#after = after;
    this.epoch = log.epoch;
  }

  start(handlers: BusHandlers): Promise<void> {
    if (this.#closed) return Promise.reject(closedError());
    if (this.#handlers !== null) return Promise.reject(new BusError('INVALID', 'A subscriber can only be started once.'));
    this.#handlers = handlers;
    this.#enterEpoch();
    this.#enterAfter();
    this.#liveFrom = this.#log.endIndex;
    const started = new Promise<void>((resolve, reject) => {
      this.#caughtUp = { resolve, reject };
    });
    this.wake();
    return started;
  }

  #enterAfter(): void {
    const oldest = this.#log.at(this.#next)?.entry.offset ?? this.#log.offset + 1;
    if (this.#after === undefined) return;
    if (this.#after.epoch !== this.epoch || this.#after.offset > this.#log.offset) {
      this.#handlers?.onLost({ from: 1, to: 0, reason: 'epoch', last: oldest - 1 });
      return;
    }
    this.#positions = new Map();
    this.#last = Math.max(oldest - 1, this.#after.offset);
    this.#next += this.#last + 1 - oldest;
  }

  placeOf(epoch: string): EpochPlace | null {
    return epoch === this.epoch ? { end: this.#last, isWhole: true } : null;
  }

  position(topic: string): number {
    return this.#positions.get(topic) ?? 0;
  }

  wake(): void {
    if (this.#handlers === null || this.#turn !== null || this.#closed) return;
    this.#turn = setImmediate(() => {
      this.#turn = null;
      if (this.#deliver()) this.wake();
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#caughtUp?.reject(closedError());
    this.#caughtUp = null;
    this.#positions.clear();
    this.#forget();
  }

  /** Delivers for one turn. True if there is more. */
  #deliver(): boolean {
    const handlers = this.#handlers;
    if (handlers === null) return false;
    const startedAtMs = performance.now();
    for (let count = 1; !this.#closed; count += 1) {
      if (this.#next < this.#log.firstIndex) this.#skipDropped(handlers);
      const stored = this.#log.at(this.#next);
      this.#reportCaughtUp(handlers);
      if (stored === undefined) return false;
      if (stored.epoch !== this.epoch) {
        this.#changeEpoch(handlers);
        continue;
      }
      const { entry } = stored;
      for (const { topic, seq } of entry.topics) this.#positions.set(topic, seq);
      this.#last = entry.offset;
      this.#next += 1;
      handlers.onEntry(entry, this.#next <= this.#liveFrom);
      if (count % sliceCheckEntries === 0 && performance.now() - startedAtMs > sliceMs) return true;
    }
    return false;
  }

  #reportCaughtUp(handlers: BusHandlers): void {
    if (this.#caughtUp === null || this.#next < this.#liveFrom) return;
    handlers.onLink?.(true);
    this.#caughtUp.resolve();
    this.#caughtUp = null;
  }

  /** Reports entries that were dropped before they were delivered. */
  #skipDropped(handlers: BusHandlers): void {
    const oldest = this.#log.at(this.#log.firstIndex);
    if (oldest === undefined || oldest.epoch !== this.epoch || this.epoch !== this.#log.epoch) return this.#changeEpoch(handlers);
    const from = this.#last + 1;
    this.#enterEpoch();
    this.#last = oldest.entry.offset - 1;
    this.#lost(handlers, from);
  }

  #changeEpoch(handlers: BusHandlers): void {
    const from = this.#last + 1;
    this.#enterEpoch();
    const oldest = this.#log.at(this.#next);
    this.counters.epochChanges += 1;
    handlers.onLost({ from, to: from - 1, reason: 'epoch', last: 0 });
    if (oldest === undefined || oldest.entry.offset === 1) return;
    this.#last = oldest.entry.offset - 1;
    this.#lost(handlers, 1);
  }

  #lost(handlers: BusHandlers, from: number): void {
    this.counters.lostEntries += this.#last - from + 1;
    handlers.onLost({ from, to: this.#last, reason: 'trimmed', last: this.#last });
  }

  /** Moves to the oldest entry of the current epoch, with the positions of that place. */
  #enterEpoch(): void {
    this.epoch = this.#log.epoch;
    this.#next = this.#log.oldestIndex;
    this.#last = 0;
    this.#positions = this.#log.basePositions();
  }
}
