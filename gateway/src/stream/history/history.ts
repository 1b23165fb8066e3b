import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { segmentBytes, segmentOf, Segments } from '@sluice/shared/runtime/collections/segments.ts';
import type { LogBounds } from '@sluice/shared/config/memory-bounds.ts';
import { EventView } from '@sluice/shared/codec/event-view.ts';
import { joinLosses, type SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { Gap } from '@sluice/shared/wire/stream/replies.ts';
import { ordersPrefix } from '@sluice/shared/wire/stream/topics.ts';
import { LazyEvent } from './lazy-event.ts';

/** Events whose written forms are cached, oldest first out: clients that resume at the same time read the same events. */
const maxWritten = 4_096;
/** Entries among which the oldest event is searched. */
const maxUntimed = 1_000;

/** After this many pauses, those that have left the history are removed. */
const sweepEvery = 1_000;
/** Losses retained. Ingest reports one every few seconds at most, so these reach back as far as the history. */
const maxLosses = 256;

/** JSON and MessagePack are made on access, which costs; read them only if they are needed. */
export class StoredEvent extends EventView {
  /** Offset of its entry in the log. */
  readonly offset: number;
  readonly #onWrite: (written: StoredEvent) => void;

  constructor(offset: number, record: Uint8Array, view: number, onWrite: (written: StoredEvent) => void) {
    super(record, view);
    this.offset = offset;
    this.#onWrite = onWrite;
  }

  override get json(): Uint8Array {
    if (!this.isJson) this.#onWrite(this);
    return super.json;
  }

  override get msgpack(): Uint8Array {
    this.#onWrite(this);
    return super.msgpack;
  }
}

/** Consecutive entries. Their bytes are in one buffer outside the garbage-collected heap. The oldest segment is dropped as a whole. */
interface Segment {
  readonly buffer: Buffer;
  used: number;
  /** Log-wide index of the first entry here. */
  readonly firstIndex: number;
  readonly offsets: number[];
  /** Where the record of each entry begins and ends. The second view of a record has the range of the first. */
  readonly starts: number[];
  readonly ends: number[];
  readonly views: number[];
  /** The topics of every entry, in order. When the segment is dropped, each topic loses one event for each time it is listed. */
  readonly topics: TopicHistory[];
}

interface TopicHistory {
  readonly topic: string;
  /** `seq` of the oldest retained event. */
  firstSeq: number;
  /** Log-wide indexes of the retained events. Those before `head` were dropped. */
  indexes: number[];
  head: number;
}

/**
 * What resuming clients need: the newest events in memory as they are stored in the log, found by topic and `seq`. Beyond its bounds it drops the oldest segment. The retained events of a topic are
 * always consecutive: after a hole in the log, only the events after the hole are retained. Pauses of candles and losses of slots are retained as
 * far back as the events.
 */
export class History {
  readonly #limits: LogBounds;
  readonly #topics = new Map<string, TopicHistory>();
  readonly #segments: Segment[] = [];
  readonly #memory = new Segments();
  #entries = 0;
  #bytes = 0;
  #nextIndex = 0;
  /** Every entry of the log from this offset on was appended. */
  #wholeFrom = 0;
  /** By log-wide index. */
  readonly #written = new Map<number, StoredEvent>();
  /** The record that was appended last, which may have a second view. */
  #lastRecord: Uint8Array | null = null;
  /** `seq` of the last pause of each topic of candles. A client that resumes from before a pause has missed candles. */
  readonly #pauses = new Map<string, number>();
  #pausesAdded = 0;
  /** Slots whose events ingest reported as lost. No missing `seq` shows such a loss. */
  #losses: { readonly offset: number; readonly loss: SlotLoss }[] = [];

  constructor(limits: LogBounds) {
    this.#limits = limits;
  }

  get entries(): number {
    return this.#entries;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Offset of the oldest retained entry; null if there is none. */
  get oldestOffset(): number | null {
    return this.#segments[0]?.offsets[0] ?? null;
  }

  /** When the oldest retained event was published, Unix milliseconds; null if none is found. */
  get oldestAtMs(): number | null {
    const [oldest] = this.#segments;
    // Entries that are no events, such as verdicts on slots, have no time.
    for (let at = 0; at < Math.min(oldest?.starts.length ?? 0, maxUntimed); at++) {
      const atMs = new LazyEvent(this.#at(oldest!, at)).publishedAtMs;
      if (atMs !== null) return atMs;
    }
    return null;
  }

  append(entry: LogEntry): void {
    const { record, view } = entry;
    const isSecond = view > 0 && record === this.#lastRecord;
    const segment = isSecond ? this.#segments.at(-1)! : this.#segmentFor(record.length);
    if (!isSecond) {
      segment.buffer.set(record, segment.used);
      segment.used += record.length;
    }
    this.#lastRecord = record;
    segment.offsets.push(entry.offset);
    segment.starts.push(segment.used - record.length);
    segment.ends.push(segment.used);
    segment.views.push(view);
    for (const { topic, seq } of entry.topics) segment.topics.push(this.#index(topic, seq));
    this.#nextIndex++;
    this.#entries++;
  }

  /** `seq` of the oldest retained event of a topic; 0 if there is none. */
  oldest(topic: string): number {
    return this.#topics.get(topic)?.firstSeq ?? 0;
  }

  /** `seq` of the newest retained event of a topic; 0 if there is none. */
  newest(topic: string): number {
    const found = this.#topics.get(topic);
    return found === undefined ? 0 : found.firstSeq + found.indexes.length - found.head - 1;
  }

  /** Some entries up to offset `last` were lost and not appended. */
  markLost(last: number): void {
    this.#wholeFrom = last + 1;
  }

  /** `seq` of a topic's last event up to an offset; `current` is the `seq` of its last event of all. Null if it is not known. */
  lastUpTo(topic: string, offset: number, current: number): number | null {
    const { oldestOffset } = this;
    if (oldestOffset === null || Math.max(oldestOffset, this.#wholeFrom) > offset) return null;
    const found = this.#topics.get(topic);
    if (found === undefined || this.newest(topic) < current) return current;
    let [low, high] = [found.head, found.indexes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#offsetAt(found.indexes[middle]!) <= offset) low = middle + 1;
      else high = middle;
    }
    return found.firstSeq + low - found.head - 1;
  }

  #offsetAt(index: number): number {
    const segment = segmentOf(this.#segments, index);
    return segment.offsets[index - segment.firstIndex]!;
  }

  /** Null if the event is not retained. The bytes are valid until the next `append`. */
  read(topic: string, seq: number): StoredEvent | null {
    const found = this.#topics.get(topic);
    const index = found === undefined || seq < found.firstSeq ? undefined : found.indexes[found.head + seq - found.firstSeq];
    if (index === undefined) return null;
    const segment = segmentOf(this.#segments, index);
    return this.#written.get(index) ?? this.#at(segment, index - segment.firstIndex);
  }

  #at(segment: Segment, at: number): StoredEvent {
    const record = segment.buffer.subarray(segment.starts[at], segment.ends[at]);
    return new StoredEvent(segment.offsets[at]!, record, segment.views[at]!, (written) => {
      this.#written.set(segment.firstIndex + at, written);
      if (this.#written.size > maxWritten) this.#written.delete(this.#written.keys().next().value!);
    });
  }

  clear(): void {
    this.#topics.clear();
    for (const { buffer } of this.#segments.splice(0)) this.#memory.give(buffer);
    this.#written.clear();
    this.#lastRecord = null;
    this.#pauses.clear();
    this.#losses = [];
    this.#entries = 0;
    this.#bytes = 0;
  }

  addPause({ topics }: LogEntry): void {
    for (const { topic, seq } of topics) this.#pauses.set(topic, seq);
    if (++this.#pausesAdded % sweepEvery !== 0) return;
    for (const [topic, seq] of this.#pauses) {
      const oldest = this.oldest(topic);
      if (oldest === 0 || oldest > seq) this.#pauses.delete(topic);
    }
  }

  /** `seq` of a topic's last pause; 0 if none is known. */
  lastPause(topic: string): number {
    return this.#pauses.get(topic) ?? 0;
  }

  addLoss(offset: number, loss: SlotLoss): void {
    this.#losses.push({ offset, loss });
    if (this.#losses.length > maxLosses) this.#losses.shift();
  }

  /** All losses reported after frame `seq` of a topic, joined; null if there are none. If the frame is not retained, all known losses. */
  lossSince(topic: string, seq: number): SlotLoss | null {
    const from = Math.max(this.oldestOffset ?? 0, this.read(topic, seq)?.offset ?? 0);
    const losses = this.#losses.filter(({ offset, loss }) => offset > from && concerns(loss, topic)).map(({ loss }) => loss);
    return losses.length === 0 ? null : losses.reduce(joinLosses);
  }

  #index(topic: string, seq: number): TopicHistory {
    const found = this.#topics.get(topic);
    if (found !== undefined && seq === found.firstSeq + found.indexes.length - found.head) {
      found.indexes.push(this.#nextIndex);
      return found;
    }
    const begun: TopicHistory = { topic, firstSeq: seq, indexes: [this.#nextIndex], head: 0 };
    this.#topics.set(topic, begun);
    return begun;
  }

  #segmentFor(length: number): Segment {
    const last = this.#segments.at(-1);
    if (last !== undefined && last.used + length <= last.buffer.length) return last;
    const bytes = Math.max(segmentBytes, length);
    while (this.#segments.length > 0 && this.#overBounds(bytes)) this.#dropOldest();
    const segment: Segment = {
      buffer: this.#memory.take(bytes),
      used: 0,
      firstIndex: this.#nextIndex,
      offsets: [],
      starts: [],
      ends: [],
      views: [],
      topics: [],
    };
    this.#segments.push(segment);
    this.#bytes += bytes;
    return segment;
  }

  #overBounds(moreBytes: number): boolean {
    const withoutOldest = this.#entries - this.#segments[0]!.starts.length;
    return this.#bytes + moreBytes > this.#limits.maxBytes || withoutOldest >= this.#limits.maxEntries;
  }

  #dropOldest(): void {
    const segment = this.#segments.shift()!;
    this.#entries -= segment.starts.length;
    this.#bytes -= segment.buffer.length;
    this.#memory.give(segment.buffer);
    for (const topic of segment.topics) {
      topic.head++;
      topic.firstSeq++;
      if (topic.head === topic.indexes.length) {
        if (this.#topics.get(topic.topic) === topic) this.#topics.delete(topic.topic);
      } else if (topic.head >= 64 && topic.head * 2 >= topic.indexes.length) {
        topic.indexes = topic.indexes.slice(topic.head);
        topic.head = 0;
      }
    }
  }
}

/** Whether a loss may have been of this topic. Events of every topic come from the chain, except orders. */
export function concerns(loss: SlotLoss, topic: string): boolean {
  return loss.topic === undefined ? !topic.startsWith(ordersPrefix) : loss.topic === topic;
}

/** The `gap` that reports a loss. No `seq` is missing: the next frame is `next`. */
export function slotLossGap(topic: string, next: number, { from, to, signatures }: SlotLoss, epoch: string): Gap {
  return { op: 'gap', topic, from: next, to: null, reason: 'unseen', epoch, slots: { from, to }, signatures: [...signatures] };
}
