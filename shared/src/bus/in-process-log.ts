import { busLimits, type BusEntry, type LogEntry, type TopicSeq } from './bus.ts';
import { newEpoch } from './epoch.ts';

export interface InProcessLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly maxTopics: number;
}

interface Stored {
  readonly epoch: string;
  readonly entry: LogEntry;
}

/** Dropped slots at the front of the array before it is compacted. */
const compactAfter = 4096;

/**
 * The memory behind the in-process bus: entries of the present epoch (and, for subscribers still on their way, of the
 * one before it), the counters, and the counters as they stood before the oldest entry. An entry has an `index` that
 * runs on over epochs, by which subscribers find their way. Oldest entries are dropped beyond `maxEntries` or
 * `maxBytes`; a topic beyond `maxTopics` begins a new epoch.
 */
export class InProcessLog {
  epoch = newEpoch();
  offset = 0;
  readonly #limits: InProcessLimits;
  readonly #seqs = new Map<string, number>();
  readonly #base = new Map<string, number>();
  #items: (Stored | undefined)[] = [];
  #head = 0;
  #firstIndex = 0;
  #bytes = 0;
  /** Index of the first entry of the present epoch. */
  #epochIndex = 0;

  constructor(limits: Partial<InProcessLimits> = {}) {
    this.#limits = { maxEntries: busLimits.maxEntries, maxBytes: busLimits.maxBytes, maxTopics: busLimits.maxTopics, ...limits };
  }

  /** Index of the oldest entry of the present epoch that is kept. */
  get oldestIndex(): number {
    return Math.max(this.#firstIndex, this.#epochIndex);
  }

  /** Index of the oldest entry kept, of whatever epoch. */
  get firstIndex(): number {
    return this.#firstIndex;
  }

  /** Index that the next entry will have. */
  get endIndex(): number {
    return this.#firstIndex + this.#items.length - this.#head;
  }

  append(entry: BusEntry): void {
    let fresh = 0;
    for (const topic of entry.topics) if (!this.#seqs.has(topic)) fresh += 1;
    if (this.#seqs.size + fresh > this.#limits.maxTopics) this.#beginEpoch();
    const topics: TopicSeq[] = [];
    for (const topic of entry.topics) {
      const seq = (this.#seqs.get(topic) ?? 0) + 1;
      this.#seqs.set(topic, seq);
      topics.push({ topic, seq });
    }
    this.offset += 1;
    this.#items.push({ epoch: this.epoch, entry: { offset: this.offset, topics, json: entry.json, msgpack: entry.msgpack } });
    this.#bytes += entry.json.length + entry.msgpack.length;
    while (this.endIndex - this.#firstIndex > this.#limits.maxEntries || this.#bytes > this.#limits.maxBytes) this.#dropOldest();
  }

  at(index: number): Stored | undefined {
    return this.#items[this.#head + index - this.#firstIndex];
  }

  /** The newest entries of the present epoch, oldest first. */
  tail(maxEntries: number): LogEntry[] {
    const first = Math.max(this.oldestIndex, this.endIndex - maxEntries);
    return this.#items.slice(this.#head + first - this.#firstIndex).map((stored) => (stored as Stored).entry);
  }

  /** The counters as they stood before the oldest entry of the present epoch. */
  basePositions(): Map<string, number> {
    return new Map(this.#base);
  }

  clear(): void {
    this.#firstIndex = this.endIndex;
    this.#items = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#seqs.clear();
    this.#base.clear();
  }

  #beginEpoch(): void {
    this.epoch = newEpoch();
    this.offset = 0;
    this.#seqs.clear();
    this.#base.clear();
    this.#epochIndex = this.endIndex;
  }

  #dropOldest(): void {
    const oldest = this.#items[this.#head];
    if (oldest === undefined) return;
    this.#items[this.#head] = undefined;
    this.#head += 1;
    this.#firstIndex += 1;
    this.#bytes -= oldest.entry.json.length + oldest.entry.msgpack.length;
    if (oldest.epoch === this.epoch) for (const { topic, seq } of oldest.entry.topics) this.#base.set(topic, seq);
    if (this.#head >= compactAfter && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }
}
