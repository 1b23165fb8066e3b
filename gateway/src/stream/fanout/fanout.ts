import type { BusSubscriber, LogEntry } from '@sluice/shared/bus/bus.ts';
import type { SlotLoss, SlotVerdict } from '@sluice/shared/market/slot-verdict.ts';
import { frameBytes, frameHead, writeJsonFrame, writeMsgpackFrame, type Format, type FrameHead } from '@sluice/shared/wire/frames.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import type { Gap } from '@sluice/shared/wire/replies.ts';
import { Batcher, type Batch } from './batcher.ts';
import { encodeBytes } from './encode.ts';
import { ConfirmedSlots } from '@sluice/shared/market/confirmed-slots.ts';
import { EventCell } from '../history/event-cell.ts';
import type { CompiledFilter } from './filters.ts';
import type { History } from '../history/history.ts';
import type { StreamStats } from './stats.ts';
import { isOfMarket, unseenGap } from '../history/slot-losses.ts';

/** A topic that somebody follows. */
export interface TopicState {
  readonly topic: string;
  /** Its frames are handed out once their slots are confirmed; those up to `seq` are decided. */
  readonly confirmed: boolean;
  readonly head: FrameHead;
  /** `seq` of the last frame handed out. */
  seq: number;
  /** Heartbeat tick in which it last moved. */
  movedAtTick: number;
  readonly groups: Group[];
}

/** The followers of one topic who get the very same bytes; one room of the transport. */
export interface Group {
  readonly topic: TopicState;
  readonly room: string;
  readonly format: Format;
  readonly filter: CompiledFilter | null;
  /** Null without `?batch=1`. */
  readonly batch: Batch | null;
  /** Id of the key that this group counts for: the one that used it first. */
  readonly payer: string;
  /** Under a filter: `seq` of the last frame that passed, or where following began (`exact` false). */
  prev: number;
  exact: boolean;
  /** Connections that hold this group, in its room or about to be. */
  members: number;
}

/** Where the followed log stands. */
export type BusPosition = Pick<BusSubscriber, 'epoch' | 'position'>;

type Encoded = Pick<LogEntry, 'json' | 'msgpack'>;
const nothing = new Uint8Array(0);

export type Publish = (room: string, message: Uint8Array, binary: boolean) => void;

/** Different filters on one topic that a gateway evaluates; one more is refused. */
export const maxGroupsPerTopic = 2_000;
/** Topics that are followed at one time on one gateway; one more is refused. */
export const maxTopics = 500_000;

let rooms = 0;
/** A room's name, never used twice in a process. */
export function newRoom(): string {
  return (rooms++).toString(36);
}

/** Events of a topic that are looked at for the first whose slot is not confirmed, when its first follower asks for such. */
const maxLookBack = 4_096;

/** Topics, the groups that follow them, and the one composition of a frame for each of them. */
export class Fanout {
  readonly #topics = new Map<string, TopicState>();
  /** Topics of which confirmed events are followed. */
  readonly #confirmed = new Map<string, TopicState>();
  readonly #history: Pick<History, 'read' | 'newest' | 'oldest'>;
  readonly slots = new ConfirmedSlots();
  /** Publishes and counts. */
  readonly publish: Publish;
  readonly #stats: StreamStats;
  readonly #bus: BusPosition;
  readonly batcher: Batcher;
  /** Where frames are composed: the transport copies what it is handed. */
  #scratch = Buffer.allocUnsafeSlow(64 * 1024);
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

  topic(name: string): TopicState | undefined {
    return this.#topics.get(name);
  }

  /** Position of a topic as followers know it: the last `seq` handed out. */
  position(name: string, confirmed = false): number {
    return (confirmed ? this.#confirmed : this.#topics).get(name)?.seq ?? this.#bus.position(name);
  }

  /** Heartbeats mark time, so that a topic's last movement can be told. */
  tick(number: number): void {
    this.#tick = number;
  }

  /** Takes a place in the group of these properties; null where there are too many topics or groups, or filters of this key. */
  acquire(name: string, format: Format, batched: boolean, filter: CompiledFilter | null, keyId: string): Group | null {
    const confirmed = filter?.confirmed === true;
    const topics = confirmed ? this.#confirmed : this.#topics;
    let topic = topics.get(name);
    if (topic === undefined) {
      if (this.topicCount >= maxTopics) return null;
      const seq = confirmed ? this.#decidedUpTo(name) : this.#bus.position(name);
      topic = { topic: name, confirmed, head: frameHead(name), seq, movedAtTick: this.#tick, groups: [] };
      topics.set(name, topic);
    }
    let group = topic.groups.find(
      (one) => one.format === format && (one.batch !== null) === batched && (one.filter?.key ?? '') === (filter?.key ?? ''),
    );
    if (group === undefined) {
      if (topic.groups.length >= maxGroupsPerTopic) return null;
      if (filter !== null && filtersOf(topic, keyId) >= streamLimits.filtersPerKeyAndTopic) return null;
      const room = newRoom();
      const batch = batched ? { format, room, buffer: null, length: 0, count: 0 } : null;
      group = { topic, room, format, filter, batch, payer: keyId, prev: topic.seq, exact: false, members: 0 };
      topic.groups.push(group);
    }
    group.members++;
    return group;
  }

  release(group: Group): void {
    if (--group.members > 0) return;
    const { topic } = group;
    topic.groups.splice(topic.groups.indexOf(group), 1);
    if (topic.groups.length === 0) (topic.confirmed ? this.#confirmed : this.#topics).delete(topic.topic);
  }

  /** Hands an entry to every group that follows one of its topics and whose filter it passes. */
  onEntry(entry: LogEntry, cell: EventCell): void {
    for (let i = 0; i < entry.topics.length; i++) {
      const { topic: name, seq } = entry.topics[i]!;
      const waiting = this.#confirmed.size === 0 ? undefined : this.#confirmed.get(name);
      // One that waits for an older event waits on.
      if (waiting !== undefined && waiting.seq === seq - 1) this.#advance(waiting);
      const topic = this.#topics.get(name);
      if (topic === undefined) continue;
      // The bus tells of what it lost; should it ever not, the followers are told all the same.
      if (seq !== topic.seq + 1) this.gap(topic, topic.seq + 1, seq - 1, 'lost');
      topic.seq = seq;
      topic.movedAtTick = this.#tick;
      this.#handOut(topic, seq, entry, cell);
    }
  }

  /** What became of some slots: their events are handed out to those who waited for it. */
  onVerdict(verdict: SlotVerdict): void {
    this.slots.take(verdict);
    for (const topic of this.#confirmed.values()) this.#advance(topic);
  }

  /** Hands out what is decided of a topic, up to the first event that is not. */
  #advance(topic: TopicState): void {
    const { topic: name } = topic;
    const wantsMsgpack = topic.groups.some(({ format }) => format === 'msgpack');
    for (const newest = this.#history.newest(name); topic.seq < newest;) {
      const seq = topic.seq + 1;
      const stored = this.#history.read(name, seq);
      if (stored === null) {
        const oldest = this.#history.oldest(name);
        this.gap(topic, seq, oldest - 1, 'trimmed');
        topic.seq = oldest - 1;
        continue;
      }
      const cell = new EventCell(stored);
      if (this.slots.fateOf(cell.event) === 'wait') return;
      topic.seq = seq;
      topic.movedAtTick = this.#tick;
      this.#handOut(topic, seq, { json: stored.json, msgpack: wantsMsgpack ? stored.msgpack : nothing }, cell);
    }
  }

  /** The `seq` before the first retained event whose slot is neither confirmed nor dead. */
  #decidedUpTo(name: string): number {
    let decided = this.#bus.position(name);
    const newest = this.#history.newest(name);
    for (let seq = newest; seq > newest - maxLookBack; seq--) {
      const stored = this.#history.read(name, seq);
      if (stored === null) break;
      if (this.slots.fateOf(new EventCell(stored).event) === 'wait') decided = seq - 1;
    }
    return decided;
  }

  /** The topics of an entry that nobody gets: their followers are told that it, and what they missed before it, is gone. */
  skip({ topics }: LogEntry, reason: 'unwatched' | 'lost'): void {
    for (const { topic: name, seq } of topics) {
      const topic = this.#topics.get(name);
      if (topic === undefined) continue;
      this.gap(topic, topic.seq + 1, seq, reason);
      topic.seq = seq;
      topic.movedAtTick = this.#tick;
    }
  }

  #handOut(topic: TopicState, seq: number, entry: Encoded, cell: EventCell): void {
    const { groups } = topic;
    let json: Uint8Array | null = null;
    let msgpack: Uint8Array | null = null;
    // Both forms without `prev` lie one behind the other, and behind them whatever a filter needs.
    const jsonRoom = frameBytes(topic.head, entry.json);
    const msgpackRoom = frameBytes(topic.head, entry.msgpack);
    const scratch = this.#scratchOf(jsonRoom + msgpackRoom + Math.max(jsonRoom, msgpackRoom));
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i]!;
      const { filter, format, batch } = group;
      if (filter === null) {
        let frame: Uint8Array;
        if (format === 'json') frame = json ??= scratch.subarray(0, writeJsonFrame(scratch, 0, topic.head, seq, null, entry.json));
        else {
          frame = msgpack ??= scratch.subarray(jsonRoom, writeMsgpackFrame(scratch, jsonRoom, topic.head, seq, null, entry.msgpack));
        }
        if (batch === null) this.publish(group.room, frame, format === 'msgpack');
        else {
          this.batcher.add(batch, frame.length, (target, at) => {
            target.set(frame, at);
            return at + frame.length;
          });
        }
      } else if (filter.test(cell.event)) this.#handFiltered(group, seq, entry, jsonRoom + msgpackRoom);
    }
  }

  #handFiltered(group: Group, seq: number, entry: Encoded, at: number): void {
    const { prev, format, batch, topic } = group;
    group.prev = seq;
    group.exact = true;
    const data = format === 'json' ? entry.json : entry.msgpack;
    const write = (target: Buffer, start: number): number => writeFrame(format, target, start, topic.head, seq, prev, data);
    if (batch !== null) this.batcher.add(batch, frameBytes(topic.head, data), write);
    else this.publish(group.room, this.#scratch.subarray(at, write(this.#scratch, at)), format === 'msgpack');
  }

  #scratchOf(bytes: number): Buffer {
    if (this.#scratch.length < bytes) this.#scratch = Buffer.allocUnsafeSlow(bytes * 2);
    return this.#scratch;
  }

  /** Tells every follower of a topic that frames `from`..`to` are gone (`to` null: how many is not known). */
  gap(topic: TopicState, from: number, to: number | null, reason: Gap['reason']): void {
    this.#tell(topic, { op: 'gap', topic: topic.topic, from, to, reason, epoch: this.#bus.epoch });
  }

  /** Tells every follower of the market what no frame will tell. */
  onUnseen(loss: SlotLoss): void {
    for (const topic of [...this.#topics.values(), ...this.#confirmed.values()]) {
      if (isOfMarket(topic.topic)) this.#tell(topic, unseenGap(topic.topic, topic.seq + 1, loss, this.#bus.epoch));
    }
  }

  #tell(topic: TopicState, gap: Gap): void {
    this.#stats.gaps++;
    for (const group of topic.groups) {
      if (group.batch !== null) this.batcher.flush(group.batch);
      this.publish(group.room, encodeBytes(gap, group.format, group.batch !== null), group.format === 'msgpack');
    }
  }

  /** The numbers go on in another epoch. */
  onEpoch(): void {
    this.batcher.flushAll();
    for (const topic of [...this.#topics.values(), ...this.#confirmed.values()]) this.gap(topic, topic.seq + 1, topic.seq, 'epoch');
  }

  /** The bus lost entries: every topic that moved meanwhile says so and goes on from where the bus stands now. */
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
        group.exact = false;
      }
    }
  }
}

function filtersOf(topic: TopicState, keyId: string): number {
  return topic.groups.reduce((count, { filter, payer }) => (filter !== null && payer === keyId ? count + 1 : count), 0);
}

/** One frame in either form; see `writeJsonFrame`. */
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
