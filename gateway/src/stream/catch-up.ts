import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import { isLater } from '@sluice/shared/bus/epoch.ts';
import type { SlotLoss } from '@sluice/shared/market/slot-verdict.ts';
import { frameBytes } from '@sluice/shared/wire/frames.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import type { Gap } from '@sluice/shared/wire/replies.ts';
import type { Connection } from './connection.ts';
import { EventCell } from './event-cell.ts';
import { writeFrame, type BusPosition, type Group } from './fanout.ts';
import type { History } from './history.ts';
import type { Pauses } from './pauses.ts';
import type { StreamStats } from './stats.ts';
import { isOfMarket, unseenGap } from './unseen.ts';

/** Frames replayed in one turn of the loop, to all connections together: live frames go between. */
const framesPerTurn = 512;
/** For how many a frame counts in MessagePack, which the history makes of its JSON. */
const msgpackFrames = 8;
/** A replay waits while more than this waits for its client. */
const waitingBytes = 512 * 1024;
/** A client may be ahead of a gateway that lags another by this many frames … */
const maxAhead = 65_536;
/** … which it is given this long to reach. */
const aheadMs = 10_000;

/** One connection's way through the history of one topic; at its end the connection joins the live group. */
export class CatchUp {
  readonly connection: Connection;
  readonly group: Group;
  /** `seq` of the next frame to send. */
  next: number;
  /** Under a filter: the last that passed, or where the replay began. */
  prev: number;
  readonly startedAtMs: number;

  constructor(connection: Connection, group: Group, after: number, nowMs: number) {
    this.connection = connection;
    this.group = group;
    this.next = after + 1;
    this.prev = after;
    this.startedAtMs = nowMs;
  }
}

/** Where a client that names its position begins, and what it has lost. */
export interface Start {
  readonly after: number;
  readonly recovered: boolean;
  readonly gap: Gap | null;
}

/** Judges a client's position against what is retained, and against where the topic last paused. */
export function startFrom(
  topic: string,
  since: { readonly epoch: string; readonly seq: number },
  current: number,
  bus: Pick<BusSubscriber, 'epoch' | 'placeOf'>,
  history: History,
  pausedAt: number,
): Start {
  const oldest = history.oldest(topic);
  // Behind a hole that nothing has followed yet, nothing is retained.
  const trimmedTo = oldest === 0 || history.newest(topic) < current ? current : oldest - 1;
  const retainedAfter = Math.max(trimmedTo, pausedAt);
  const { epoch } = bus;
  const lost = (after: number, to: number | null, reason: Gap['reason'], from = since.seq + 1): Start => ({
    after,
    recovered: false,
    gap: { op: 'gap', topic, from, to, reason, epoch },
  });
  if (since.epoch !== epoch) {
    // The client comes from a gateway that is further: what is retained here it has.
    if (isLater(since.epoch, epoch)) return lost(current, null, 'epoch');
    const place = bus.placeOf(since.epoch);
    const last = place === null ? null : history.lastUpTo(topic, place.end, current);
    // The numbers up to `last` are the same in both epochs.
    if (last === null || since.seq > last) return lost(Math.max(retainedAfter, last ?? 0), null, 'epoch');
    if (place?.isWhole === false) return lost(Math.max(retainedAfter, since.seq), null, 'epoch');
  }
  if (since.seq > current + maxAhead) return lost(current, null, 'ahead', current + 1);
  if (since.seq < retainedAfter) return lost(retainedAfter, retainedAfter, since.seq < trimmedTo ? 'trimmed' : 'unwatched');
  return { after: since.seq, recovered: true, gap: null };
}

/** All replays under way; takes turns among them so that no client waits for another's. */
export class CatchUps {
  readonly #history: History;
  readonly #bus: BusPosition;
  readonly #stats: StreamStats;
  readonly #pauses: Pauses;
  readonly #queue = new Set<CatchUp>();
  #turn: NodeJS.Immediate | null = null;

  constructor(history: History, bus: BusPosition, stats: StreamStats, pauses: Pauses) {
    this.#history = history;
    this.#bus = bus;
    this.#stats = stats;
    this.#pauses = pauses;
  }

  get size(): number {
    return this.#queue.size;
  }

  add(catchUp: CatchUp): void {
    this.#queue.add(catchUp);
    this.wake();
  }

  delete(catchUp: CatchUp): void {
    this.#queue.delete(catchUp);
  }

  /** Goes on soon: something has drained, come or been added. */
  wake(): void {
    if (this.#queue.size > 0) this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  close(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#queue.clear();
  }

  /** The epoch is another; the replays go on. */
  onEpoch(): void {
    for (const catchUp of this.#queue) {
      const { seq } = catchUp.group.topic;
      // Of a client that is ahead nobody knows what it was told.
      if (catchUp.next > seq + 1) this.#reset(catchUp);
      else this.#tell(catchUp, { from: catchUp.next, to: catchUp.next - 1, reason: 'epoch' });
    }
  }

  /** Another log: what was to be replayed is gone. */
  onReset(): void {
    for (const catchUp of this.#queue) this.#reset(catchUp);
    this.wake();
  }

  #reset(catchUp: CatchUp): void {
    const { seq } = catchUp.group.topic;
    this.#tell(catchUp, { from: catchUp.next, to: null, reason: 'epoch' });
    catchUp.next = seq + 1;
    catchUp.prev = seq;
  }

  /** Something is not told at all; the replays go on. */
  onUnseen(loss: SlotLoss): void {
    for (const { connection, group, next } of this.#queue) {
      const { topic } = group.topic;
      if (!isOfMarket(topic)) continue;
      this.#stats.gaps++;
      connection.tell(unseenGap(topic, next, loss, this.#bus.epoch));
    }
  }

  #takeTurn(): void {
    this.#turn = null;
    let budget = framesPerTurn;
    let moved = false;
    let visits = this.#queue.size;
    for (const catchUp of this.#queue) {
      if (visits-- === 0 || budget <= 0) break;
      if (catchUp.connection.bufferedBytes() > waitingBytes) continue;
      // Behind the others in the next turn.
      this.#queue.delete(catchUp);
      this.#queue.add(catchUp);
      const weight = catchUp.group.format === 'msgpack' ? msgpackFrames : 1;
      const looked = this.#advance(catchUp, Math.min(Math.ceil(budget / weight), streamLimits.batchEvents));
      budget -= Math.max(looked, 1) * weight;
      if (looked > 0) moved = true;
    }
    if (moved || budget <= 0) this.wake();
  }

  /** Looks at no more than `limit` events; returns how many it looked at. */
  #advance(catchUp: CatchUp, limit: number): number {
    const { connection, group } = catchUp;
    const { topic } = group;
    const oldest = this.#history.oldest(topic.topic);
    const newest = this.#history.newest(topic.topic);
    if (catchUp.next <= topic.seq && newest < catchUp.next) this.#skip(catchUp, topic.seq);
    else if (catchUp.next < oldest) this.#skip(catchUp, oldest - 1);
    const pausedAt = this.#pauses.last(topic.topic);
    if (catchUp.next <= pausedAt) this.#skip(catchUp, pausedAt, 'unwatched');
    const last = Math.min(topic.seq, newest, catchUp.next + limit - 1);
    const looked = Math.max(0, last - catchUp.next + 1);
    if (looked > 0) this.#replay(catchUp, last);
    if (connection.ended) return looked;
    if (catchUp.next > topic.seq + 1) this.#waitForLag(catchUp);
    else if (catchUp.next === topic.seq + 1) {
      this.#queue.delete(catchUp);
      connection.join(catchUp);
    }
    return looked;
  }

  /** What is next has left the history, or is behind a hole in it, or behind a pause. */
  #skip(catchUp: CatchUp, to: number, reason: Gap['reason'] = 'trimmed'): void {
    this.#tell(catchUp, { from: catchUp.next, to, reason });
    catchUp.next = to + 1;
  }

  #waitForLag(catchUp: CatchUp): void {
    const { topic } = catchUp.group;
    if (Date.now() - catchUp.startedAtMs < aheadMs) return;
    this.#tell(catchUp, { from: topic.seq + 1, to: null, reason: 'ahead' });
    catchUp.next = topic.seq + 1;
    catchUp.prev = topic.seq;
    this.wake();
  }

  #tell({ connection, group }: CatchUp, lost: Pick<Gap, 'from' | 'to' | 'reason'>): void {
    this.#stats.gaps++;
    connection.tell({ op: 'gap', topic: group.topic.topic, from: lost.from, to: lost.to, reason: lost.reason, epoch: this.#bus.epoch });
  }

  #replay(catchUp: CatchUp, last: number): void {
    const { connection, group } = catchUp;
    const { topic, filter, format } = group;
    const frames: Uint8Array[] = [];
    for (let seq = catchUp.next; seq <= last; seq++) {
      const stored = this.#history.read(topic.topic, seq)!;
      if (filter !== null && !filter.test(new EventCell(stored).event)) continue;
      const data = format === 'json' ? stored.json : stored.msgpack;
      const target = Buffer.allocUnsafe(frameBytes(topic.head, data));
      frames.push(target.subarray(0, writeFrame(format, target, 0, topic.head, seq, filter === null ? null : catchUp.prev, data)));
      catchUp.prev = seq;
    }
    catchUp.next = last + 1;
    this.#stats.replayedFrames += frames.length;
    if (frames.length === 0) return;
    if (group.batch !== null) connection.write(joinFrames(frames, format));
    else {
      for (const frame of frames) connection.write(frame);
    }
  }
}

/** Frames as one array message. */
function joinFrames(frames: readonly Uint8Array[], format: Group['format']): Uint8Array {
  if (format === 'msgpack') {
    const header = Buffer.from([0xdc, frames.length >> 8, frames.length & 0xff]);
    return Buffer.concat([header, ...frames]);
  }
  const comma = Buffer.from(',');
  const parts = frames.flatMap((frame, at) => (at === 0 ? [Buffer.from('['), frame] : [comma, frame]));
  return Buffer.concat([...parts, Buffer.from(']')]);
}
