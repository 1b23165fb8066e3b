import { isLater } from '@sluice/shared/bus/epoch.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { frameBytes } from '@sluice/shared/wire/stream/frames.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Gap } from '@sluice/shared/wire/stream/replies.ts';
import { groupsOf } from '../fanout/encode.ts';
import { writeFrame } from '../fanout/fanout.ts';
import type { StreamStats } from '../fanout/stream-stats.ts';
import type { BusPosition, Group } from '../fanout/topic-group.ts';
import { LazyEvent } from '../history/lazy-event.ts';
import { concerns, slotLossGap } from '../history/history.ts';
import { resumePoint, type ResumeParts } from './resume-point.ts';

/** Frames replayed in one turn of the event loop, over all connections, each written from its record. Live frames are sent between the turns. */
const framesPerTurn = 128;
/** A replay pauses while its client has more than this many bytes buffered. */
const maxBufferedBytes = 512 * 1024;
/** A client may be ahead of a gateway that lags another one. The gateway has this long to reach the client's position. */
const maxAheadMs = 10_000;

export interface ReplayClient {
  readonly ended: boolean;
  bufferedBytes(): number;
  notify(gap: Gap): void;
  /** Sends a frame, or an array of frames. */
  write(bytes: Uint8Array): void;
  /** The replay has reached the last published frame: the client enters the room of the group. */
  goLive(catchUp: CatchUp): void;
}

/** The replay of one topic to one client. At its end the client joins the live group. */
export class CatchUp {
  readonly client: ReplayClient;
  readonly group: Group;
  /** `seq` of the next frame to send. */
  next: number;
  /** With a filter: `seq` of the last frame that passed, or where the replay began. */
  prev: number;
  /** The gateway has not reached this epoch yet; null if it has reached the epoch of the client's position. */
  awaitedEpoch: string | null;
  readonly startedAtMs: number;

  constructor(client: ReplayClient, group: Group, after: number, awaitedEpoch: string | null, nowMs: number) {
    this.client = client;
    this.group = group;
    this.next = after + 1;
    this.prev = after;
    this.awaitedEpoch = awaitedEpoch;
    this.startedAtMs = nowMs;
  }
}

/** All replays in progress. They take turns, so that no client waits for the replay of another. */
export class CatchUps {
  readonly #parts: ResumeParts & { readonly bus: BusPosition };
  readonly #stats: StreamStats;
  readonly #clock: Clock;
  readonly #queue = new Set<CatchUp>();
  #turn: NodeJS.Immediate | null = null;

  constructor(parts: ResumeParts & { readonly bus: BusPosition }, stats: StreamStats, clock: Clock) {
    this.#parts = parts;
    this.#stats = stats;
    this.#clock = clock;
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

  /** Continues soon: a client has drained its buffer, an entry has arrived, or a replay was added. */
  wake(): void {
    if (this.#queue.size > 0) this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  close(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#queue.clear();
  }

  /** A new epoch has begun in which the numbers continue. The replays continue too. */
  onEpoch(): void {
    for (const catchUp of this.#queue) {
      const { seq } = catchUp.group.topic;
      if (catchUp.awaitedEpoch !== null) continue;
      // What a client that is ahead received in the last epoch is unknown.
      if (catchUp.next > seq + 1) this.#restart(catchUp, catchUp.next, 'epoch');
      else this.#reportGap(catchUp, { from: catchUp.next, to: catchUp.next - 1, reason: 'epoch' });
    }
    this.wake();
  }

  /** A new log has begun. What was to be replayed is lost. */
  onReset(): void {
    const { epoch } = this.#parts.bus;
    for (const catchUp of this.#queue) {
      const { awaitedEpoch } = catchUp;
      if (awaitedEpoch === null || (awaitedEpoch !== epoch && !isLater(awaitedEpoch, epoch))) this.#restart(catchUp, catchUp.next, 'epoch');
    }
    this.wake();
  }

  /** Continues with what is published from now on. An unknown number of frames is lost, beginning with `from`. */
  #restart(catchUp: CatchUp, from: number, reason: Gap['reason']): void {
    const { seq } = catchUp.group.topic;
    this.#reportGap(catchUp, { from, to: null, reason });
    catchUp.awaitedEpoch = null;
    catchUp.next = seq + 1;
    catchUp.prev = seq;
  }

  /** Ingest reported lost slots. The replays continue. */
  onSlotLoss(loss: SlotLoss): void {
    for (const { client, group, next, awaitedEpoch } of this.#queue) {
      const { topic } = group.topic;
      // A client that comes from a later epoch was notified there of losses in an earlier one.
      if (concerns(loss, topic) && awaitedEpoch === null) this.#notify(client, slotLossGap(topic, next, loss, this.#parts.bus.epoch));
    }
  }

  #takeTurn(): void {
    this.#turn = null;
    let budget = framesPerTurn;
    let moved = false;
    let visits = this.#queue.size;
    for (const catchUp of this.#queue) {
      if (visits-- === 0 || budget <= 0) break;
      if (catchUp.client.bufferedBytes() > maxBufferedBytes) continue;
      // In the next turn it comes after the others.
      this.#queue.delete(catchUp);
      this.#queue.add(catchUp);
      const looked = this.#advance(catchUp, Math.min(budget, streamLimits.batchEvents));
      budget -= Math.max(looked, 1);
      if (looked > 0) moved = true;
    }
    if (moved || budget <= 0) this.wake();
  }

  /** Reads at most `limit` events and returns how many it read. */
  #advance(catchUp: CatchUp, limit: number): number {
    const { client, group } = catchUp;
    const { topic } = group;
    if (catchUp.awaitedEpoch !== null && !this.#hasReached(catchUp, catchUp.awaitedEpoch)) {
      this.#waitForLag(catchUp);
      return 0;
    }
    const { history } = this.#parts;
    const oldest = history.oldest(topic.topic);
    const newest = history.newest(topic.topic);
    if (catchUp.next <= topic.seq && newest < catchUp.next) this.#skip(catchUp, topic.seq);
    else if (catchUp.next < oldest) this.#skip(catchUp, oldest - 1);
    const pausedAt = history.lastPause(topic.topic);
    if (catchUp.next <= pausedAt) this.#skip(catchUp, pausedAt, 'unwatched');
    const last = Math.min(topic.seq, newest, catchUp.next + limit - 1);
    const looked = Math.max(0, last - catchUp.next + 1);
    if (looked > 0) this.#replay(catchUp, last);
    if (client.ended) return looked;
    if (catchUp.next > topic.seq + 1) this.#waitForLag(catchUp);
    else if (catchUp.next === topic.seq + 1) {
      this.#queue.delete(catchUp);
      client.goLive(catchUp);
    }
    return looked;
  }

  /** Whether the gateway has reached the epoch of the client's position. If it has passed that epoch, the client is notified of the next one. */
  #hasReached(catchUp: CatchUp, awaited: string): boolean {
    const { epoch } = this.#parts.bus;
    const { topic, seq: current } = catchUp.group.topic;
    if (isLater(awaited, epoch)) return false;
    if (awaited !== epoch) {
      // Only a gateway that has the frame of that number knows in which epoch it was published.
      if (catchUp.next > current + 1) return false;
      const { after, gap } = resumePoint(this.#parts, topic, { epoch: awaited, seq: catchUp.next - 1 }, current);
      this.#notify(catchUp.client, gap ?? { op: 'gap', topic, from: catchUp.next, to: catchUp.next - 1, reason: 'epoch', epoch });
      catchUp.next = after + 1;
      catchUp.prev = after;
    }
    catchUp.awaitedEpoch = null;
    return true;
  }

  /** The next frames were trimmed from the history, or lie before a hole in it or before a pause. */
  #skip(catchUp: CatchUp, to: number, reason: Gap['reason'] = 'trimmed'): void {
    this.#reportGap(catchUp, { from: catchUp.next, to, reason });
    catchUp.next = to + 1;
  }

  #waitForLag(catchUp: CatchUp): void {
    if (this.#clock.steadyMs() - catchUp.startedAtMs < maxAheadMs) return;
    this.#restart(catchUp, catchUp.group.topic.seq + 1, 'ahead');
    this.wake();
  }

  #reportGap({ client, group }: CatchUp, lost: Pick<Gap, 'from' | 'to' | 'reason'>): void {
    this.#notify(client, { op: 'gap', topic: group.topic.topic, ...lost, epoch: this.#parts.bus.epoch });
  }

  #notify(client: ReplayClient, gap: Gap): void {
    this.#stats.noteGap(gap, true);
    client.notify(gap);
  }

  #replay(catchUp: CatchUp, last: number): void {
    const { client, group } = catchUp;
    const { topic, filter, format } = group;
    const frames: Uint8Array[] = [];
    for (let seq = catchUp.next; seq <= last; seq++) {
      const stored = this.#parts.history.read(topic.topic, seq)!;
      if (filter !== null && !new LazyEvent(stored).passes(filter)) continue;
      const data = stored[format];
      const target = Buffer.allocUnsafe(frameBytes(topic.head, data));
      frames.push(target.subarray(0, writeFrame(format, target, 0, topic.head, seq, filter === null ? null : catchUp.prev, data)));
      catchUp.prev = seq;
    }
    catchUp.next = last + 1;
    this.#stats.replayedFrames += frames.length;
    if (frames.length === 0) return;
    for (const message of group.batch === null ? frames : joinFrames(frames, format)) client.write(message);
  }
}

/** Bytes of an array in addition to its frames and commas. */
const arrayBytes = 3;

/** Joins frames into array messages, as long as a message may be. */
function joinFrames(frames: readonly Uint8Array[], format: Group['format']): Uint8Array[] {
  const [opening, comma, closing] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')];
  return groupsOf(frames, arrayBytes, (frame) => frame.length + 1, streamLimits.frameBytes).map((group) =>
    format === 'msgpack'
      ? Buffer.concat([Buffer.from([0xdc, group.length >> 8, group.length & 0xff]), ...group])
      : Buffer.concat([opening, ...group.flatMap((frame, at) => (at === 0 ? [frame] : [comma, frame])), closing]),
  );
}
