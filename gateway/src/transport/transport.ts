import type { Logger } from '@sluice/shared/log/log.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';

/** A request, read whole before anybody waits. Header names are lower case; a repeated header is joined with `, `. */
export interface HttpRequest {
  readonly method: string;
  /** Characters of path and query, as sent. */
  readonly urlChars: number;
  /** Path without the query, as sent. */
  readonly path: string;
  /** The text behind the `?` as it was sent, or empty. */
  readonly search: string;
  readonly query: URLSearchParams;
  readonly headers: ReadonlyMap<string, string>;
  /** As `headers.get`, without the making of the map. */
  header(name: string): string | undefined;
  readonly remoteAddress: string;
  readonly requestId: string;
}

/** The transport adds `X-Request-Id`, and the length of the body. */
export interface HttpAnswer {
  readonly status: number;
  /** Headers that many answers share, joined before: `\r\nName: value` for each. */
  readonly lines: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** One WebSocket. Every method may be called at any time: after the end it does nothing. */
export interface Socket {
  /** Queues one message; false when it was not taken (the client is beyond all bounds) or the socket has ended. */
  send(message: string | Uint8Array, binary: boolean): boolean;
  /** From here on the messages published to `room`, each once. */
  join(room: string): void;
  leave(room: string): void;
  /** Bytes that wait in this process. What the kernel holds is not in it. */
  bufferedBytes(): number;
  ping(): void;
  /** Closes with a close frame behind what is queued. */
  end(code: number, reason: string): void;
  /** Closes at once, without a close frame. */
  destroy(): void;
}

export interface SocketHandlers {
  /** `bytes` may be used only until the call returns. */
  onMessage(bytes: Uint8Array, binary: boolean): void;
  /** Some of what was queued has gone out. */
  onDrain(): void;
  /** Any sign of life that is no message: a ping or a pong. */
  onSign(): void;
  /** A published message could not be queued; the socket must be given up, but not from within this call. */
  onDropped(): void;
  /** Called once; nothing is called after it. */
  onClose(code: number): void;
}

/** An upgrade is refused with an HTTP answer or accepted with what takes the socket over; `lines` as in `HttpAnswer`. */
export type UpgradeOutcome =
  | { readonly refused: HttpAnswer }
  | { readonly accept: (socket: Socket) => SocketHandlers; readonly lines: string };

/** A request's body, at most `transportLimits.bodyBytes` of it; `too_large`: there is more, and it was not read. */
export type ReceivedBody = Uint8Array | 'too_large';

export interface TransportHandlers {
  /** Answers a request. Must not throw; a rejection is answered with `fault`. */
  http(request: HttpRequest, body: ReceivedBody): HttpAnswer | Promise<HttpAnswer>;
  /** Answers a request of which it cannot be said where it ends. Must neither throw nor reject. */
  malformed(request: HttpRequest): HttpAnswer | Promise<HttpAnswer>;
  /** Answers a request whose handler threw. */
  fault(request: HttpRequest): HttpAnswer;
  /**
   * Decides on a WebSocket handshake at `streamPaths`. What takes time ends in a last word: it is asked for in the turn in which the
   * socket is opened, so that nobody comes in between. What `accept` takes over it does at once, or never where the client has gone.
   */
  upgrade(request: HttpRequest): UpgradeOutcome | Promise<() => UpgradeOutcome>;
}

export interface TransportOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Paths at which a WebSocket may be opened. */
  readonly streamPaths: readonly string[];
  /** Another process may listen on the same port (a handover). Otherwise a taken port is an error. */
  readonly sharePort: boolean;
  readonly log: Logger;
}

/** A listening server. */
export interface Transport {
  readonly kind: 'uws' | 'node';
  readonly port: number;
  /**
   * Queues one message to every socket in `room`. A socket gets its messages (published or sent) in the order of the
   * calls, beginning with the first publish after its `join`. `message` may be used again after the call.
   */
  publish(room: string, message: Uint8Array, binary: boolean): void;
  /** Takes no new connections once it has resolved; open ones stay, for HTTP until their next answer. */
  stopListening(): Promise<void>;
  /** Destroys whatever is still open. */
  close(): Promise<void>;
}

/** Answers of these statuses have neither body nor length (RFC 9110, section 6.4.1). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

export type StartTransport = (options: TransportOptions, handlers: TransportHandlers) => Promise<Transport>;

export const transportLimits = {
  /** Bytes of a request's body, counted as it streams. */
  bodyBytes: 64 * 1024,
  /** Characters of path and query. */
  urlChars: 8 * 1024,
  /** Bytes of one WebSocket message that are read at all; beyond it the link is cut without a close frame. */
  messageBytes: streamLimits.cutMessageBytes,
  /** Bytes waiting for one WebSocket beyond which nothing more is taken for it. */
  hardBufferBytes: 16 * 1024 * 1024,
} as const;
