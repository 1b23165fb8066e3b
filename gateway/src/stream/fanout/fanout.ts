import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { SlotLoss, SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { frameBytes, frameHead, writeJsonFrame, writeMsgpackFrame } from '@sluice/shared/wire/stream/frames.ts';
import type { Format, FrameHead } from '@sluice/shared/wire/stream/frames.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Gap } from '@sluice/shared/wire/stream/replies.ts';
import { concerns, slotLossGap, type History } from '../history/history.ts';
import { LazyEvent } from '../history/lazy-event.ts';
import { Batcher } from './batcher.ts';
import { encodeBytes } from './encode.ts';
import type { CompiledFilter } from './filters.ts';
import type { StreamStats } from './stream-stats.ts';
import { newRoom, sendAll, type BusPosition, type Group, type Publish, type TopicState } from './topic-group.ts';

type Encoded = Pick<LogEntry, Format>;

/** Different filters on one topic that a gateway evaluates; one more is refused. */
export const maxGroupsPerTopic = 2_000;
/** Topics followed at one time on one gateway; one more is refused. */
export const maxTopics = 500_000;

/** When a topic gets its first follower of confirmed events, the first undecided one is searched among this many events. */
const maxLookBack = 4_096;

/** The followed topics and their groups. Composes each frame once for each format, and publishes it to the rooms of the groups. */
export class Fanout {
  readonly #topics = new Map<string, TopicState>();
  /** Topics with followers of confirmed events. */
  readonly #confirmed = new Map<string, TopicState>();
  readonly #history: Pick<History, 'read' | 'newest' | 'oldest'>;
  readonly slots = new ConfirmedSlots();
  /** Publishes and counts. */
  readonly publish: Publish;
  readonly #stats: StreamStats;
  readonly #bus: BusPosition;
  readonly batcher: Batcher;
  /** Frames are composed here: those without `prev` in each format, and that of one filtered group. The transport copies what it publishes. */
  readonly #scratch = { json: Buffer.alloc(0), msgpack: Buffer.alloc(0), filtered: Buffer.alloc(0) };
  #tick = 0;

  constructor(publish: Publish, stats: StreamStats, bus: BusPosition, history: Pick<History, 'read' | 'newest' | 'oldest'>) {
    this.#history = history;
    this.#stats = stats;
    this.#bus = bus;
    this.publish = (room, message, binary) => {
      stats.publishes++;
      stats.publishedBytes += message.length;
      publish(room, message, binary);
    };
    this.batcher = new Batcher((batch, message) => this.publish(batch.room, message, batch.format === 'msgpack'));
  }

  get topicCount(): number {
    return this.#topics.size + this.#confirmed.size;
  }

  isFollowed(name: string): boolean {
    return this.#topics.has(name);
  }

  /** The last `seq` of a topic that was published to its followers. */
  position(name: string, confirmed = false): number {
    return (confirmed ? this.#confirmed : this.#topics).get(name)?.seq ?? this.#bus.position(name);
  }

  /** Sets the number of the current tick, by which heartbeats see whether a topic changed. */
  tick(number: number): void {
    this.#tick = number;
  }

  /** Adds a member to the group with these properties. Null if that exceeds the bound of topics, of groups, or of this key's filters. */
  acquire(name: string, format: Format, batched: boolean, filter: CompiledFilter | null, keyId: string): Group | null {
    const confirmed = filter?.confirmed === true;
    const topics = confirmed ? this.#confirmed : this.#topics;
    let topic = topics.get(name);
    if (topic === undefined) {
      if (this.topicCount >= maxTopics) return null;
      const seq = confirmed ? this.#decidedUpTo(name) : this.#bus.position(name);
      topic = {
        topic: name,
        confirmed,
        head: frameHead(name),
        seq,
        movedAtTick: this.#tick,
        groups: [],
        afterFrame: new Set(),
        afterBatch: new Set(),
      };
      topics.set(name, topic);
    }
    let group = topic.groups.find(
      (one) => one.format === format && (one.batch !== null) === batched && (one.filter?.key ?? '') === (filter?.key ?? ''),
    );
    if (group === undefined) {
      if (topic.groups.length >= maxGroupsPerTopic) return null;
      const ofKey = topic.groups.filter((one) => one.filter !== null && one.ownerKeyId === keyId);
      if (filter !== null && ofKey.length >= streamLimits.filtersPerKeyAndTopic) return null;
      const room = newRoom();
      const batch = batched ? { format, room, topic, buffer: null, length: 0, count: 0, publishedAtMs: 0 } : null;
      group = { topic, room, format, filter, batch, ownerKeyId: keyId, prev: topic.seq, prevIsExact: false, members: 0 };
      topic.groups.push(group);
    }
    group.members++;
    return group;
  }

  /** Call before a member that has replayed up to the topic's position enters the room; `prev`: the last frame that passed its replay. */
  prepareJoin(group: Group, prev: number): void {
    if (group.batch !== null) this.batcher.flush(group.batch);
    // Before a frame has passed, the group knows only where following began; the replay knows the last frame that this member got.
    if (!group.prevIsExact) group.prev = Math.min(group.prev, prev);
  }

  release(group: Group): void {
    if (--group.members > 0) return;
    const { topic } = group;
    topic.groups.splice(topic.groups.indexOf(group), 1);
    if (topic.groups.length === 0) (topic.confirmed ? this.#confirmed : this.#topics).delete(topic.topic);
  }

  /** Publishes an entry to every group that follows one of its topics and whose filter it passes. */
  onEntry(entry: LogEntry, lazy: LazyEvent): void {
    for (let i = 0; i < entry.topics.length; i++) {
      const { topic: name, seq } = entry.topics[i]!;
      const confirmed = this.#confirmed.size === 0 ? undefined : this.#confirmed.get(name);
      // If an older event of the topic is undecided, this one waits for it.
      if (confirmed !== undefined && confirmed.seq === seq - 1) this.#advance(confirmed);
      const topic = this.#topics.get(name);
      if (topic === undefined) continue;
      // The bus reports what it lost. If it ever does not, followers still get the gap.
      if (seq !== topic.seq + 1) this.gap(topic, topic.seq + 1, seq - 1, 'lost');
      topic.seq = seq;
      topic.movedAtTick = this.#tick;
      this.#publishFrame(topic, seq, entry, lazy);
    }
  }

  /** Some slots were decided: publishes their events to followers of confirmed events. */
  onVerdict(verdict: SlotVerdict): void {
    this.slots.take(verdict);
    for (const topic of this.#confirmed.values()) this.#advance(topic);
  }

  /** Publishes a topic's events up to the first one that is not decided. */
  #advance(topic: TopicState): void {
    const { topic: name } = topic;
    for (const newest = this.#history.newest(name); topic.seq < newest;) {
      const seq = topic.seq + 1;
      const stored = this.#history.read(name, seq);
      if (stored === null) {
        const oldest = this.#history.oldest(name);
        this.gap(topic, seq, oldest - 1, 'trimmed');
        topic.seq = oldest - 1;
        continue;
      }
      const lazy = new LazyEvent(stored);
      if (lazy.fate(this.slots) === 'wait') return;
      topic.seq = seq;
      topic.movedAtTick = this.#tick;
      this.#publishFrame(topic, seq, stored, lazy);
    }
  }

  /** The `seq` before the first retained event whose slot is neither confirmed nor dead. */
  #decidedUpTo(name: string): number {
    let decided = this.#bus.position(name);
    const newest = this.#history.newest(name);
    for (let seq = newest; seq > newest - maxLookBack; seq--) {
      const stored = this.#history.read(name, seq);
      if (stored === null) break;
      if (new LazyEvent(stored).fate(this.slots) === 'wait') decided = seq - 1;
    }
    return decided;
  }

  /** Steps over an entry that is not published. The followers of its topics get a gap for it, and for what they missed before it. */
  skip({ topics }: LogEntry, reason: 'unwatched' | 'lost'): void {
    for (const { topic: name, seq } of topics) {
      const topic = this.#topics.get(name);
      if (topic === undefined || topic.seq >= seq) continue;
      this.gap(topic, topic.seq + 1, seq, reason);
      topic.seq = seq;
      topic.movedAtTick = this.#tick;
    }
  }

  #publishFrame(topic: TopicState, seq: number, entry: Encoded, lazy: LazyEvent): void {
    const { groups } = topic;
    const frames: { json: Uint8Array | null; msgpack: Uint8Array | null } = { json: null, msgpack: null };
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i]!;
      const { filter, format, batch } = group;
      if (filter === null) {
        const frame = (frames[format] ??= this.#compose(format, format, topic, seq, null, entry[format]));
        if (batch === null) this.publish(group.room, frame, format === 'msgpack');
        else {
          this.batcher.reserve(batch, frame.length).set(frame, batch.length);
          this.batcher.added(batch, batch.length + frame.length);
        }
      } else if (lazy.passes(filter)) this.#publishFiltered(group, seq, entry[format]);
    }
    sendAll(topic.afterFrame);
  }

  #publishFiltered(group: Group, seq: number, data: Uint8Array): void {
    const { prev, format, batch, topic } = group;
    group.prev = seq;
    group.prevIsExact = true;
    if (batch === null) this.publish(group.room, this.#compose('filtered', format, topic, seq, prev, data), format === 'msgpack');
    else {
      const target = this.batcher.reserve(batch, frameBytes(topic.head, data));
      this.batcher.added(batch, writeFrame(format, target, batch.length, topic.head, seq, prev, data));
    }
  }

  #compose(
    where: Format | 'filtered',
    format: Format,
    { head }: TopicState,
    seq: number,
    prev: number | null,
    data: Uint8Array,
  ): Uint8Array {
    const bytes = frameBytes(head, data);
    if (this.#scratch[where].length < bytes) this.#scratch[where] = Buffer.allocUnsafeSlow(bytes * 2);
    const scratch = this.#scratch[where];
    return scratch.subarray(0, writeFrame(format, scratch, 0, head, seq, prev, data));
  }

  /** Reports to every follower of a topic that frames `from` to `to` are lost; `to` is null if the number of lost frames is unknown. */
  gap(topic: TopicState, from: number, to: number | null, reason: Gap['reason']): void {
    this.#publishGap(topic, { op: 'gap', topic: topic.topic, from, to, reason, epoch: this.#bus.epoch });
  }

  /** Reports to the followers of a topic that no candles of it are published, because the bound of published topics is reached. */
  reportUnwatched(name: string): void {
    const topic = this.#topics.get(name);
    if (topic !== undefined) this.gap(topic, topic.seq + 1, null, 'unwatched');
  }

  /** Reports lost slots to every follower of market topics. */
  onSlotLoss(loss: SlotLoss): void {
    for (const topic of [...this.#topics.values(), ...this.#confirmed.values()]) {
      if (concerns(loss, topic.topic)) this.#publishGap(topic, slotLossGap(topic.topic, topic.seq + 1, loss, this.#bus.epoch));
    }
  }

  #publishGap(topic: TopicState, gap: Gap): void {
    this.#stats.noteGap(gap, false);
    for (const group of topic.groups) {
      if (group.batch !== null) this.batcher.flush(group.batch);
      this.publish(group.room, encodeBytes(gap, group.format, group.batch !== null), group.format === 'msgpack');
    }
  }

  /** The numbers continue in a new epoch. */
  onEpoch(): void {
    this.batcher.flushAll();
    for (const topic of [...this.#topics.values(), ...this.#confirmed.values()]) this.gap(topic, topic.seq + 1, topic.seq, 'epoch');
  }

  /** The bus lost entries: reports a gap for every topic that moved meanwhile, and continues from the position of the bus. */
  onLost(reason: 'trimmed' | 'epoch'): void {
    this.batcher.flushAll();
    if (reason === 'epoch') this.slots.clear();
    for (const topic of [...this.#topics.values(), ...this.#confirmed.values()]) {
      const position = this.#bus.position(topic.topic);
      if (reason === 'epoch') this.gap(topic, topic.seq + 1, null, 'epoch');
      else if (position > topic.seq) this.gap(topic, topic.seq + 1, position, 'lost');
      else continue;
      topic.seq = position;
      topic.movedAtTick = this.#tick;
      if (reason !== 'epoch') continue;
      for (const group of topic.groups) {
        group.prev = position;
        group.prevIsExact = false;
      }
    }
  }
}

/** Writes one frame in either format; see `writeJsonFrame`. */
export function writeFrame(
  format: Format,
  target: Buffer,
  at: number,
  head: FrameHead,
  seq: number,
  prev: number | null,
  data: Uint8Array,
): number {
  return format === 'json' ? writeJsonFrame(target, at, head, seq, prev, data) : writeMsgpackFrame(target, at, head, seq, prev, data);
}
