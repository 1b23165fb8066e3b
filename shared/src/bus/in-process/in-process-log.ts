import { segmentOf, Segments } from '../../runtime/collections/segments.ts';
import { busLimits, LogEntry, type BusEntry, type TopicSeq } from '../bus.ts';
import { newEpoch } from '../epoch.ts';

export interface InProcessLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly maxTopics: number;
}

interface Stored {
  readonly epoch: string;
  readonly entry: LogEntry;
}

/** A topic. All entries with the topic share this object. */
interface Counter {
  readonly topic: string;
  seq: number;
}

/** Consecutive entries of one epoch in one block of memory, without an object for each, so that the garbage collector has less to visit. */
interface Segment {
  readonly epoch: string;
  readonly firstIndex: number;
  readonly firstOffset: number;
  readonly buffer: Buffer;
  /** For each entry, where its record begins and ends. The second view of a record has the range of the first. */
  readonly starts: number[];
  readonly ends: number[];
  readonly views: number[];
  /** For each entry, where its part of `topics` and `seqs` ends. */
  readonly topicEnds: number[];
  readonly topics: Counter[];
  readonly seqs: number[];
}

/**
 * The memory of the in-process bus: the entries of the current epoch (and of the previous one, for subscribers that have not reached its
 * end), the counters, and the counters before the oldest entry. Each entry has an `index` that continues over epochs; subscribers use it as
 * their place. The oldest entries are dropped beyond `maxEntries` or `maxBytes`. One topic more than `maxTopics` begins a new epoch.
 */
export class InProcessLog {
  epoch = newEpoch();
  offset = 0;
  readonly #limits: InProcessLimits;
  #counters = new Map<string, Counter>();
  readonly #base = new Map<string, number>();
  readonly #memory = new Segments();
  #segments: Segment[] = [];
  #firstIndex = 0;
  #endIndex = 0;
  #bytes = 0;
  /** Index of the first entry of the current epoch. */
  #epochIndex = 0;
  /** The record that was read last, and the index for which it was read. */
  #copy: Uint8Array = Buffer.alloc(0);
  #copiedAt = -1;

  constructor(limits: Partial<InProcessLimits> = {}) {
    this.#limits = { maxEntries: busLimits.maxEntries, maxBytes: busLimits.maxBytes, maxTopics: busLimits.maxTopics, ...limits };
  }

  /** Index of the oldest stored entry of the current epoch. */
  get oldestIndex(): number {
    return Math.max(this.#firstIndex, this.#epochIndex);
  }

  /** Index of the oldest stored entry of any epoch. */
  get firstIndex(): number {
    return this.#firstIndex;
  }

  /** Index that the next entry will have. */
  get endIndex(): number {
    return this.#endIndex;
  }

  append({ topics, tickTopics = [], record }: BusEntry): void {
    const fresh = new Set([...topics, ...tickTopics].filter((topic) => !this.#counters.has(topic)));
    if (this.#counters.size + fresh.size > this.#limits.maxTopics) this.#beginEpoch();
    const segment = this.#segmentFor(record.length);
    const start = segment.ends.at(-1) ?? 0;
    segment.buffer.set(record, start);
    this.#appendView(segment, topics, start, start + record.length, 0);
    if (tickTopics.length > 0) this.#appendView(segment, tickTopics, start, start + record.length, 1);
    this.#bytes += record.length;
    while (this.#endIndex - this.#firstIndex > this.#limits.maxEntries || this.#bytes > this.#limits.maxBytes) this.#dropOldest();
  }

  #appendView(segment: Segment, topics: readonly string[], start: number, end: number, view: number): void {
    for (const topic of topics) {
      const counter = this.#counterOf(topic);
      counter.seq += 1;
      segment.topics.push(counter);
      segment.seqs.push(counter.seq);
    }
    segment.topicEnds.push(segment.topics.length);
    segment.starts.push(start);
    segment.ends.push(end);
    segment.views.push(view);
    this.offset += 1;
    this.#endIndex += 1;
  }

  /** With a copy of the record, because the memory of the log is reused. Both views have the same copy. */
  at(index: number): Stored | undefined {
    const segment = index < this.#firstIndex || index >= this.#endIndex ? undefined : segmentOf(this.#segments, index);
    if (segment === undefined) return undefined;
    const at = index - segment.firstIndex;
    const view = segment.views[at]!;
    if (view === 0 || this.#copiedAt !== index - 1) this.#copy = Buffer.from(segment.buffer.subarray(segment.starts[at], segment.ends[at]));
    this.#copiedAt = index;
    return { epoch: segment.epoch, entry: new LogEntry(segment.firstOffset + at, topicsOf(segment, at), this.#copy, view) };
  }

  /** What `read` returns for the newest entries of the current epoch, oldest first. */
  tail<T>(maxEntries: number, read: (entry: LogEntry) => T): T[] {
    const first = Math.max(this.oldestIndex, this.#endIndex - maxEntries);
    return Array.from({ length: this.#endIndex - first }, (_, i) => read(this.at(first + i)!.entry));
  }

  /** The counters before the oldest entry of the current epoch. */
  basePositions(): Map<string, number> {
    return new Map(this.#base);
  }

  clear(): void {
    this.#firstIndex = this.#endIndex;
    this.#segments = [];
    this.#bytes = 0;
    this.#counters.clear();
    this.#base.clear();
  }

  #beginEpoch(): void {
    this.epoch = newEpoch();
    this.offset = 0;
    // The entries of the previous epoch still use its counters.
    this.#counters = new Map();
    this.#base.clear();
    this.#epochIndex = this.#endIndex;
  }

  #counterOf(topic: string): Counter {
    const known = this.#counters.get(topic);
    if (known !== undefined) return known;
    const counter: Counter = { topic, seq: 0 };
    this.#counters.set(topic, counter);
    return counter;
  }

  #segmentFor(bytes: number): Segment {
    const last = this.#segments.at(-1);
    if (last !== undefined && last.epoch === this.epoch && (last.ends.at(-1) ?? 0) + bytes <= last.buffer.length) return last;
    const segment: Segment = {
      epoch: this.epoch,
      firstIndex: this.#endIndex,
      firstOffset: this.offset + 1,
      buffer: this.#memory.take(bytes),
      starts: [],
      ends: [],
      views: [],
      topicEnds: [],
      topics: [],
      seqs: [],
    };
    this.#segments.push(segment);
    return segment;
  }

  #dropOldest(): void {
    const segment = this.#segments[0]!;
    const at = this.#firstIndex - segment.firstIndex;
    if (segment.views[at] === 0) this.#bytes -= segment.ends[at]! - segment.starts[at]!;
    if (segment.epoch === this.epoch) for (const { topic, seq } of topicsOf(segment, at)) this.#base.set(topic, seq);
    this.#firstIndex += 1;
    if (at + 1 < segment.topicEnds.length) return;
    this.#segments.shift();
    this.#memory.give(segment.buffer);
  }
}

function topicsOf({ topics, seqs, topicEnds }: Segment, at: number): readonly TopicSeq[] {
  const from = at === 0 ? 0 : topicEnds[at - 1]!;
  return topics.slice(from, topicEnds[at]).map(({ topic }, i) => ({ topic, seq: seqs[from + i]! }));
}
