import type { Format } from '@sluice/shared/wire/frames.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import type { Heartbeat } from '@sluice/shared/wire/replies.ts';
import { nowUs } from '../clock.ts';
import { CatchUp } from './catch-up.ts';
import { groupOf, type Connection } from './connection.ts';
import { encodeBytes } from './encode.ts';
import { newRoom, type BusPosition, type Fanout } from './fanout.ts';

/** Parts of a heartbeat's second: each tick serves one, so that many connections make no pause. */
export const heartbeatSlices = 10;

/** Connections with the same single topic (or none), who share one heartbeat. */
export interface HeartbeatRoom {
  readonly key: string;
  readonly room: string;
  readonly topic: string | null;
  readonly confirmed: boolean;
  readonly format: Format;
  readonly batch: boolean;
  readonly slice: number;
  members: number;
}

/** Rooms for the connections whose heartbeats are the same; the others are told one by one. */
export class HeartbeatRooms {
  readonly #rooms = new Map<string, HeartbeatRoom>();
  #made = 0;

  /** Puts a connection into the room that fits what it follows now, or into none. */
  place(connection: Connection): void {
    const room = shares(connection) ? this.#roomOf(connection) : null;
    const before = connection.heartbeatRoom;
    if (before === room) return;
    this.remove(connection);
    if (room === null) return;
    room.members++;
    connection.heartbeatRoom = room;
    connection.enter(room.room);
  }

  remove(connection: Connection): void {
    const room = connection.heartbeatRoom;
    if (room === null) return;
    connection.leave(room.room);
    connection.heartbeatRoom = null;
    if (--room.members === 0) this.#rooms.delete(room.key);
  }

  beat(slice: number, fanout: Fanout, bus: BusPosition, publish: (room: string, message: Uint8Array, binary: boolean) => void): void {
    for (const { room, topic, confirmed, format, batch, slice: own } of this.#rooms.values()) {
      if (own !== slice) continue;
      const positions = topic === null ? {} : { [topic]: { epoch: bus.epoch, seq: fanout.position(topic, confirmed) } };
      const heartbeat: Heartbeat = { op: 'heartbeat', ts: nowUs(), positions };
      publish(room, encodeBytes(heartbeat, format, batch), format === 'msgpack');
    }
  }

  #roomOf({ topics, format, batch }: Connection): HeartbeatRoom {
    const [topic, following] = topics?.entries().next().value ?? [null, null];
    const confirmed = following !== null && groupOf(following).topic.confirmed;
    const key = `${format}${batch ? '+' : '-'}${confirmed ? '!' : ''}${topic ?? ''}`;
    let room = this.#rooms.get(key);
    if (room === undefined) {
      room = { key, room: newRoom(), topic, confirmed, format, batch, slice: this.#made++ % heartbeatSlices, members: 0 };
      this.#rooms.set(key, room);
    }
    return room;
  }
}

/** Heartbeats are for those who use `op`. Whoever replays has positions of its own. */
function shares(connection: Connection): boolean {
  return wantsHeartbeat(connection) && (connection.topics?.size ?? 0) <= 1 && !connection.catchingUp;
}

export function wantsHeartbeat({ session }: Connection): boolean {
  return session.authenticated && session.usesOps;
}

/** The heartbeat of one connection: all of its topics, or beyond a bound those that moved since its last one. */
export function heartbeatFor(connection: Connection, bus: BusPosition): Heartbeat {
  const positions: Heartbeat['positions'] = {};
  const { topics, heartbeatAtTick } = connection;
  if (topics !== null) {
    const all = topics.size <= streamLimits.heartbeatTopics;
    for (const [name, following] of topics.entries()) {
      const replays = following instanceof CatchUp;
      const topic = replays ? following.group.topic : following.topic;
      if (!all && topic.movedAtTick < heartbeatAtTick) continue;
      positions[name] = { epoch: bus.epoch, seq: replays ? following.next - 1 : topic.seq };
    }
  }
  return { op: 'heartbeat', ts: nowUs(), positions };
}
