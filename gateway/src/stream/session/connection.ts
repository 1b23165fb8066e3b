import type { Format } from '@sluice/shared/wire/frames.ts';
import type { Notice, Reply } from '@sluice/shared/wire/replies.ts';
import { closeCode, silentCloseCode } from '@sluice/shared/wire/close-codes.ts';
import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Socket, SocketHandlers } from '../../transport/transport.ts';
import { CatchUp } from '../replay/catch-up.ts';
import { encodeMessage } from '../fanout/encode.ts';
import type { Group } from '../fanout/fanout.ts';
import type { HeartbeatRoom } from '../connections/heartbeat.ts';
import type { HeldMessages } from './held-messages.ts';
import type { KeyUsage } from './key-usage.ts';
import type { Hub } from '../hub.ts';
import type { Session } from './protocol.ts';
import { TopicMap } from './topic-map.ts';

/** What the handshake decided. */
export interface ConnectionOptions {
  readonly format: Format;
  readonly batch: boolean;
  readonly principal: Principal | null;
  /** Whose connection it is, proxies apart. */
  readonly address: string;
}

/** A topic of a connection: live in its group's room, or on the way there. */
export type Following = Group | CatchUp;

export function groupOf(following: Following): Group {
  return following instanceof CatchUp ? following.group : following;
}

/** One client: its socket, its session and what it follows. Small, as there are many of them. */
export class Connection implements SocketHandlers {
  readonly #socket: Socket;
  readonly #hub: Hub;
  readonly session: Session;
  readonly format: Format;
  readonly batch: boolean;
  readonly address: string;
  principal: Principal | null;
  /** Topic to what is followed; null until the first subscription. */
  topics: TopicMap<Following> | null = null;
  /** Topics of the PumpPortal dialect; null until its first subscription. */
  dialectTopics: Set<string> | null = null;
  heartbeatRoom: HeartbeatRoom | null = null;
  heartbeatAtTick = 0;
  /** Which part of a second its heartbeats and checks fall on. */
  readonly slice: number;
  /** Checks since the last sign of life. */
  silentChecks = 0;
  authTimer: NodeJS.Timeout | null = null;
  /** Null until it has authenticated. */
  usage: KeyUsage | null = null;
  /** What came while a key is judged; null where none is. */
  held: HeldMessages | null = null;
  ended = false;

  constructor(socket: Socket, hub: Hub, session: Session, options: ConnectionOptions, slice: number) {
    this.#socket = socket;
    this.#hub = hub;
    this.session = session;
    this.format = options.format;
    this.batch = options.batch;
    this.address = options.address;
    this.principal = options.principal;
    this.slice = slice;
  }

  get topicCount(): number {
    return (this.topics?.size ?? 0) + (this.dialectTopics?.size ?? 0);
  }

  /** Has replays under way. */
  get catchingUp(): boolean {
    if (this.topics === null) return false;
    for (const [, following] of this.topics.entries()) if (following instanceof CatchUp) return true;
    return false;
  }

  bufferedBytes(): number {
    return this.#socket.bufferedBytes();
  }

  tell(message: Reply | Notice): void {
    this.#send(encodeMessage(message, this.format, this.batch), this.format === 'msgpack');
  }

  /** The reply to a command, whose bytes count as work of the client. */
  answer(reply: Reply): void {
    const message = encodeMessage(reply, this.format, this.batch);
    this.session.charge(message.length);
    this.#send(message, this.format === 'msgpack');
  }

  /** A frame, or an array of frames, in this connection's format. */
  write(bytes: Uint8Array): void {
    this.#send(bytes, this.format === 'msgpack');
  }

  /** An object of the PumpPortal dialect, which is always one JSON text. */
  writeDialect(text: string | Uint8Array): void {
    this.#send(text, false);
  }

  /** Follows a topic: in its group's room, or through the history until it has caught up. */
  follow(topic: string, following: Following): void {
    this.topics ??= new TopicMap();
    if (this.usage !== null && !this.topics.has(topic)) this.usage.subscriptions++;
    this.topics.set(topic, following);
    if (!(following instanceof CatchUp)) this.#socket.join(following.room);
  }

  /** Follows a topic no more. */
  drop(topic: string): void {
    const following = this.topics?.get(topic);
    if (following === undefined) return;
    this.topics!.delete(topic);
    if (this.usage !== null) this.usage.subscriptions--;
    if (following instanceof CatchUp) this.#hub.forget(following);
    else this.#socket.leave(following.room);
    this.#hub.fanout.release(groupOf(following));
  }

  enter(room: string): void {
    this.#socket.join(room);
  }

  leave(room: string): void {
    this.#socket.leave(room);
  }

  /** The replay of a topic has reached its live end. */
  join(catchUp: CatchUp): void {
    this.#hub.join(this, catchUp);
  }

  ping(): void {
    this.#socket.ping();
  }

  /** Ends the socket with the close code of an error. */
  close(code: ErrorCode, reason: string): void {
    if (!this.ended) this.#socket.end(closeCode(code), reason);
  }

  closeSilent(): void {
    if (!this.ended) this.#socket.end(silentCloseCode, 'no sign of life');
  }

  /** Cuts the link: no close frame would fit any more. */
  destroy(): void {
    if (!this.ended) this.#socket.destroy();
  }

  #send(message: string | Uint8Array, binary: boolean): void {
    if (!this.ended && !this.#socket.send(message, binary)) this.onDropped();
  }

  onMessage(bytes: Uint8Array, binary: boolean): void {
    this.silentChecks = 0;
    this.#hub.onMessage(this, bytes, binary);
  }

  onDrain(): void {
    this.#hub.onDrain();
  }

  onSign(): void {
    this.silentChecks = 0;
  }

  onDropped(): void {
    if (!this.ended) this.#hub.onDropped(this);
  }

  onClose(): void {
    if (this.ended) return;
    this.ended = true;
    this.#hub.onClose(this);
  }
}
