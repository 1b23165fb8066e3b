import type { ErrorCode } from '@sluice/shared/wire/errors.ts';
import { closeCode, silentCloseCode } from '@sluice/shared/wire/stream/close-codes.ts';
import type { Format } from '@sluice/shared/wire/stream/frames.ts';
import type { VenueName } from '@sluice/shared/wire/venues.ts';
import type { Notice, Reply } from '@sluice/shared/wire/stream/replies.ts';
import type { Principal } from '../../auth/principal.ts';
import type { StreamSocket, SocketHandlers } from '../../transport/transport.ts';
import { encodeMessage, encodeReply } from '../fanout/encode.ts';
import type { Group, TopicState } from '../fanout/topic-group.ts';
import { CatchUp, type ReplayClient } from '../replay/catch-up.ts';
import type { Session } from './protocol.ts';
import { TopicMap } from './topic-map.ts';
import type { Usage } from './usage.ts';
import type { WaitingMessages } from './waiting-messages.ts';

/** What the handshake decided. */
export interface ConnectionOptions {
  readonly format: Format;
  readonly batch: boolean;
  /** Messages are compressed, by the transport. */
  readonly compress: boolean;
  readonly principal: Principal | null;
  /** The client's address, behind trusted proxies too. */
  readonly address: string;
}

/** What connections with the same heartbeats have in common: one topic or none, and the form of their messages. */
export interface HeartbeatKind {
  readonly key: string;
  /** Valid while the room has a member. */
  readonly topic: TopicState | null;
  readonly format: Format;
  readonly batch: boolean;
}

/** Connections of one kind. Their heartbeat is one message to this room of the transport. */
export interface HeartbeatRoom extends HeartbeatKind {
  readonly room: string;
  readonly slice: number;
  members: number;
  /** Sends its heartbeat before its tick. */
  readonly sendEarly: () => void;
  /** Its heartbeat was sent early, so none is due at its next tick. */
  sentEarly: boolean;
}

/** A subscription to one topic: live in the room of its group, or on the way there. */
export type Following = Group | CatchUp;

export function groupOf(following: Following): Group {
  return following instanceof CatchUp ? following.group : following;
}

/** What a connection reports to the stream. */
export interface ConnectionEvents {
  /** `bytes` are valid until the call returns. */
  onMessage(connection: Connection, bytes: Uint8Array, binary: boolean): void;
  /** The client sent a ping or a pong. */
  onSign(connection: Connection): void;
  /** Some of the buffered bytes were sent. */
  onDrain(): void;
  /** A message was dropped because the send buffer of the socket was full. */
  onDropped(connection: Connection): void;
  onClose(connection: Connection): void;
  /** The replay of a topic has reached the last published frame. */
  onLive(connection: Connection, catchUp: CatchUp): void;
  onUnfollow(following: Following): void;
}

/** One client: its socket, its session and what it follows. Small, because a gateway has many of them. */
export class Connection implements SocketHandlers, ReplayClient {
  readonly #socket: StreamSocket;
  readonly #events: ConnectionEvents;
  readonly session: Session;
  readonly format: Format;
  readonly batch: boolean;
  readonly compress: boolean;
  readonly address: string;
  principal: Principal | null;
  /** What is followed, by topic. Null until the first subscription. */
  topics: TopicMap<Following> | null = null;
  /** Topics followed through PumpPortal's protocol. Null until the first one. */
  dialectTopics: Set<string> | null = null;
  heartbeatRoom: HeartbeatRoom | null = null;
  /** What this client knows of venues whose events cannot be decoded; null: nothing yet. */
  changedVenues: readonly VenueName[] | null = null;
  heartbeatAtTick = 0;
  /** The slice of a second in which its heartbeats and checks are due. */
  readonly slice: number;
  /** Checks since the client last sent anything. */
  silentChecks = 0;
  cancelAuthTimer = (): void => undefined;
  /** What its key uses, or its address as long as it has no key; null if clients without a key are not served. */
  usage: Usage | null = null;
  /** Messages that arrive while a key is checked; null while none is. */
  pending: WaitingMessages | null = null;
  /** Messages of a PumpPortal client that wait for its rate; null while none does. */
  delayed: WaitingMessages | null = null;
  ended = false;

  constructor(socket: StreamSocket, events: ConnectionEvents, session: Session, options: ConnectionOptions, slice: number) {
    this.#socket = socket;
    this.#events = events;
    this.session = session;
    this.format = options.format;
    this.batch = options.batch;
    this.compress = options.compress;
    this.address = options.address;
    this.principal = options.principal;
    this.slice = slice;
  }

  get topicCount(): number {
    return (this.topics?.size ?? 0) + (this.dialectTopics?.size ?? 0);
  }

  get catchingUp(): boolean {
    if (this.topics === null) return false;
    for (const [, following] of this.topics.entries()) if (following instanceof CatchUp) return true;
    return false;
  }

  bufferedBytes(): number {
    return this.#socket.bufferedBytes();
  }

  notify(message: Reply | Notice): void {
    this.#send(encodeMessage(message, this.format, this.batch), this.format === 'msgpack');
  }

  /** Replies to a command. The bytes of the reply count as work of the client. */
  reply(reply: Reply): void {
    for (const message of encodeReply(reply, this.format, this.batch)) {
      this.session.charge(message.length);
      this.#send(message, this.format === 'msgpack');
    }
  }

  /** Sends a frame, or an array of frames, in this connection's format. */
  write(bytes: Uint8Array): void {
    this.#send(bytes, this.format === 'msgpack');
  }

  /** Sends an object of PumpPortal's protocol, which is always JSON. */
  writeDialect(text: string | Uint8Array): void {
    this.#send(text, false);
  }

  /** Follows a topic: live in the room of its group, or through the history until the replay has caught up. */
  follow(topic: string, following: Following): void {
    this.topics ??= new TopicMap();
    if (this.usage !== null && !this.topics.has(topic)) this.usage.subscriptions++;
    this.topics.set(topic, following);
    if (!(following instanceof CatchUp)) this.#socket.join(following.room);
  }

  unfollow(topic: string): void {
    const following = this.topics?.get(topic);
    if (following === undefined) return;
    this.topics!.delete(topic);
    if (this.usage !== null) this.usage.subscriptions--;
    if (!(following instanceof CatchUp)) this.#socket.leave(following.room);
    this.#events.onUnfollow(following);
  }

  joinRoom(room: string): void {
    this.#socket.join(room);
  }

  leaveRoom(room: string): void {
    this.#socket.leave(room);
  }

  goLive(catchUp: CatchUp): void {
    this.#events.onLive(this, catchUp);
  }

  ping(): void {
    this.#socket.ping();
  }

  /** Closes the socket with the close code of an error. */
  close(code: ErrorCode, reason: string): void {
    if (!this.ended) this.#socket.end(closeCode(code), reason);
  }

  closeSilent(): void {
    if (!this.ended) this.#socket.end(silentCloseCode, 'no sign of life');
  }

  /** Closes the socket without a close frame, for a client that could not receive one. */
  destroy(): void {
    if (!this.ended) this.#socket.destroy();
  }

  #send(message: string | Uint8Array, binary: boolean): void {
    if (!this.ended && !this.#socket.send(message, binary)) this.onDropped();
  }

  onMessage(bytes: Uint8Array, binary: boolean): void {
    this.silentChecks = 0;
    this.#events.onMessage(this, bytes, binary);
  }

  onDrain(): void {
    this.#events.onDrain();
  }

  onSign(): void {
    this.silentChecks = 0;
    if (!this.ended) this.#events.onSign(this);
  }

  onDropped(): void {
    if (!this.ended) this.#events.onDropped(this);
  }

  onClose(): void {
    if (this.ended) return;
    this.ended = true;
    this.#events.onClose(this);
  }
}
