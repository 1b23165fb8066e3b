import { HeartbeatWriter } from '@sluice/shared/wire/stream/heartbeat-frame.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { Fanout } from '../fanout/fanout.ts';
import { newRoom, type BusPosition, type Publish, type TopicState } from '../fanout/topic-group.ts';
import { CatchUp } from '../replay/catch-up.ts';
import { groupOf, type Connection, type HeartbeatKind, type HeartbeatRoom } from '../session/connection.ts';
import { sliceCount } from './slices.ts';

/** Connections of one heartbeat room. Larger rooms would hold up the event loop while their heartbeat is sent. */
const maxRoomMembers = 100;
/**
 * A heartbeat may be sent this many ticks early, directly after a frame to the same connections. This saves a write to each of them. At full load,
 * three writes to each of 10,000 connections take 250 ms. If this time were shorter, heartbeats would become due before the next frame.
 */
const earlyTicks = (sliceCount * 2) / 5;
/** Smaller rooms are not worth the bookkeeping. */
const minEarlyMembers = maxRoomMembers / 2;

const writer = new HeartbeatWriter();

export interface HeartbeatParts {
  readonly fanout: Pick<Fanout, 'batcher'>;
  readonly bus: BusPosition;
  readonly publish: Publish;
  readonly slotAgeMs: () => number | null;
}

/** The rooms of connections with equal heartbeats. Every other connection gets a heartbeat of its own. */
export class HeartbeatRooms {
  /** For each kind, the room that takes new members. */
  readonly #rooms = new Map<string, HeartbeatRoom>();
  readonly #slices: readonly Set<HeartbeatRoom>[] = Array.from({ length: sliceCount }, () => new Set<HeartbeatRoom>());
  readonly #parts: HeartbeatParts;
  #created = 0;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /** Moves a connection to the room that fits what it follows now, or out of any room. */
  place(connection: Connection): void {
    const kind = canShare(connection) ? kindOf(connection) : null;
    const before = connection.heartbeatRoom;
    if (before?.key === kind?.key && before?.topic === kind?.topic) return;
    this.remove(connection);
    if (kind === null) return;
    const room = this.#roomOf(kind);
    room.members++;
    connection.heartbeatRoom = room;
    connection.joinRoom(room.room);
  }

  remove(connection: Connection): void {
    const room = connection.heartbeatRoom;
    if (room === null) return;
    connection.leaveRoom(room.room);
    connection.heartbeatRoom = null;
    if (--room.members > 0) return;
    waitingOf(room)?.delete(room.sendEarly);
    if (this.#rooms.get(room.key) === room) this.#rooms.delete(room.key);
    this.#slices[room.slice]!.delete(room);
  }

  /** Publishes the heartbeats of the rooms of one slice, and lets those of a later one be sent early. */
  beat(slice: number): void {
    for (const room of this.#slices[slice]!) {
      waitingOf(room)?.delete(room.sendEarly);
      if (!room.sentEarly) this.#publish(room);
      room.sentEarly = false;
    }
    for (const room of this.#slices[(slice + earlyTicks) % sliceCount]!) {
      if (room.members >= minEarlyMembers) waitingOf(room)?.add(room.sendEarly);
    }
  }

  #publish({ room, topic, format, batch }: HeartbeatRoom): void {
    const { fanout, bus, publish, slotAgeMs } = this.#parts;
    if (topic !== null && batch) flushTopic(topic, fanout.batcher);
    writer.begin(format, batch, nowUs(), slotAgeMs());
    if (topic !== null) writer.add(topic.head, bus.epoch, topic.seq);
    publish(room, writer.end(), format === 'msgpack');
  }

  #roomOf(kind: HeartbeatKind): HeartbeatRoom {
    const known = this.#rooms.get(kind.key);
    if (known !== undefined && known.topic === kind.topic && known.members < maxRoomMembers) return known;
    const sendEarly = (): void => {
      room.sentEarly = true;
      this.#publish(room);
    };
    const slice = this.#created++ % sliceCount;
    const room: HeartbeatRoom = { ...kind, room: newRoom(), slice, members: 0, sendEarly, sentEarly: false };
    this.#rooms.set(room.key, room);
    this.#slices[room.slice]!.add(room);
    return room;
  }
}

/** Where the early heartbeat of a room waits; null if its connections follow no topic. */
function waitingOf({ topic, batch }: HeartbeatKind): Set<() => void> | null {
  if (topic === null) return null;
  return batch ? topic.afterBatch : topic.afterFrame;
}

function kindOf({ topics, format, batch }: Connection): HeartbeatKind {
  const [name, following] = topics?.entries().next().value ?? ['', null];
  const topic = following === null ? null : groupOf(following).topic;
  return { key: `${format}${batch ? '+' : '-'}${topic?.confirmed === true ? '!' : ''}${name}`, topic, format, batch };
}

/** A connection with replays in progress has positions of its own. */
function canShare(connection: Connection): boolean {
  return getsHeartbeats(connection) && (connection.topics?.size ?? 0) <= 1 && !connection.catchingUp;
}

/** Only clients that use `op` understand heartbeats. */
export function getsHeartbeats({ session }: Connection): boolean {
  return session.authenticated && session.usesOps;
}

/** A heartbeat names positions, so the frames up to them are sent first. */
function flushTopic({ groups }: TopicState, batcher: Fanout['batcher']): void {
  for (const { batch } of groups) if (batch !== null) batcher.flush(batch);
}

/** Sends the heartbeat of one connection, in as many messages as it needs. It names all topics, or above a bound those that moved since the last one. */
export function sendHeartbeat(connection: Connection, { fanout, bus, slotAgeMs }: Omit<HeartbeatParts, 'publish'>): void {
  const { batcher } = fanout;
  const { epoch } = bus;
  const { topics, heartbeatAtTick, format, batch } = connection;
  const [ts, ageMs] = [nowUs(), slotAgeMs()];
  writer.begin(format, batch, ts, ageMs);
  if (topics !== null) {
    const all = topics.size <= streamLimits.heartbeatTopics;
    for (const [, following] of topics.entries()) {
      const replay = following instanceof CatchUp ? following : null;
      const { topic } = groupOf(following);
      if (!all && topic.movedAtTick < heartbeatAtTick) continue;
      if (batch && replay === null) flushTopic(topic, batcher);
      if (!writer.hasRoom(topic.head)) {
        connection.write(writer.end());
        writer.begin(format, batch, ts, ageMs);
      }
      if (replay === null) writer.add(topic.head, epoch, topic.seq);
      else writer.add(topic.head, replay.awaitedEpoch ?? epoch, replay.next - 1);
    }
  }
  connection.write(writer.end());
}
