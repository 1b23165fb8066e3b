import type { Format } from '@sluice/shared/wire/frames.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import { HeartbeatWriter } from '@sluice/shared/wire/heartbeat-frame.ts';
import { nowUs } from '../../clock.ts';
import { CatchUp } from '../replay/catch-up.ts';
import { groupOf, type Connection } from '../session/connection.ts';
import { newRoom, type BusPosition, type Fanout, type Publish, type TopicState } from '../fanout/fanout.ts';

/** Parts of a heartbeat's second, served one after the other, so that many connections make no pause that an event would notice. */
export const heartbeatSlices = 100;

/** Connections that share one heartbeat, at most: written to so many at once, it makes no pause either. */
const maxRoomMembers = 100;

const writer = new HeartbeatWriter();

/** What connections have in common whose heartbeats are the same: one topic or none, and the form. */
interface HeartbeatKind {
  readonly key: string;
  /** It stands for as long as there is a member. */
  readonly topic: TopicState | null;
  readonly format: Format;
  readonly batch: boolean;
}

/** Connections of one kind. */
export interface HeartbeatRoom extends HeartbeatKind {
  readonly room: string;
  readonly slice: number;
  members: number;
}

/** Rooms for the connections whose heartbeats are the same; the others are told one by one. */
export class HeartbeatRooms {
  /** By `key`, the one that takes further members. */
  readonly #rooms = new Map<string, HeartbeatRoom>();
  readonly #slices: readonly Set<HeartbeatRoom>[] = Array.from({ length: heartbeatSlices }, () => new Set<HeartbeatRoom>());
  #made = 0;

  /** Puts a connection into a room that fits what it follows now, or into none. */
  place(connection: Connection): void {
    const kind = shares(connection) ? kindOf(connection) : null;
    const before = connection.heartbeatRoom;
    if (before?.key === kind?.key && before?.topic === kind?.topic) return;
    this.remove(connection);
    if (kind === null) return;
    const room = this.#roomOf(kind);
    room.members++;
    connection.heartbeatRoom = room;
    connection.enter(room.room);
  }

  remove(connection: Connection): void {
    const room = connection.heartbeatRoom;
    if (room === null) return;
    connection.leave(room.room);
    connection.heartbeatRoom = null;
    if (--room.members > 0) return;
    if (this.#rooms.get(room.key) === room) this.#rooms.delete(room.key);
    this.#slices[room.slice]!.delete(room);
  }

  beat(slice: number, { batcher }: Fanout, bus: BusPosition, publish: Publish): void {
    for (const { room, topic, format, batch } of this.#slices[slice]!) {
      if (topic !== null && batch) flushTopic(topic, batcher);
      writer.begin(format, batch, nowUs());
      if (topic !== null) writer.add(topic.head, bus.epoch, topic.seq);
      publish(room, writer.end(), format === 'msgpack');
    }
  }

  #roomOf(kind: HeartbeatKind): HeartbeatRoom {
    const known = this.#rooms.get(kind.key);
    if (known !== undefined && known.topic === kind.topic && known.members < maxRoomMembers) return known;
    const room: HeartbeatRoom = { ...kind, room: newRoom(), slice: this.#made++ % heartbeatSlices, members: 0 };
    this.#rooms.set(room.key, room);
    this.#slices[room.slice]!.add(room);
    return room;
  }
}

function kindOf({ topics, format, batch }: Connection): HeartbeatKind {
  const [name, following] = topics?.entries().next().value ?? ['', null];
  const topic = following === null ? null : groupOf(following).topic;
  return { key: `${format}${batch ? '+' : '-'}${topic?.confirmed === true ? '!' : ''}${name}`, topic, format, batch };
}

/** Heartbeats are for those who use `op`. Whoever replays has positions of its own. */
function shares(connection: Connection): boolean {
  return wantsHeartbeat(connection) && (connection.topics?.size ?? 0) <= 1 && !connection.catchingUp;
}

export function wantsHeartbeat({ session }: Connection): boolean {
  return session.authenticated && session.usesOps;
}

/** A heartbeat names positions: what batches still hold goes first. */
function flushTopic({ groups }: TopicState, batcher: Fanout['batcher']): void {
  for (const { batch } of groups) if (batch !== null) batcher.flush(batch);
}

/**
 * The heartbeat of one connection: all of its topics, or beyond a bound those that moved since its last one. Its bytes may be used until
 * the next heartbeat.
 */
export function heartbeatFor(connection: Connection, { batcher }: Fanout, { epoch }: BusPosition): Uint8Array {
  const { topics, heartbeatAtTick, format, batch } = connection;
  writer.begin(format, batch, nowUs());
  if (topics !== null) {
    const all = topics.size <= streamLimits.heartbeatTopics;
    for (const [, following] of topics.entries()) {
      const replays = following instanceof CatchUp;
      const { topic } = groupOf(following);
      if (!all && topic.movedAtTick < heartbeatAtTick) continue;
      if (batch && !replays) flushTopic(topic, batcher);
      writer.add(topic.head, epoch, replays ? following.next - 1 : topic.seq);
    }
  }
  return writer.end();
}
