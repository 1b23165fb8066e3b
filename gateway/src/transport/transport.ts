import { STATUS_CODES } from 'node:http';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Descriptors } from './descriptors.ts';

/** A request whose head was read completely. Header names are lower-case; the values of a repeated header are joined with `, `. */
export interface HttpRequest {
  readonly method: string;
  /** Characters of path and query, as sent. */
  readonly urlChars: number;
  /** Path without the query, undecoded. */
  readonly path: string;
  /** The text after the `?`, undecoded, or empty. */
  readonly search: string;
  readonly query: URLSearchParams;
  readonly headers: ReadonlyMap<string, string>;
  /** As `headers.get`, without creating the map. */
  header(name: string): string | undefined;
  readonly remoteAddress: string;
  readonly requestId: string;
}

/** An answer. The transport adds `X-Request-Id` and the length of the body. */
export interface HttpAnswer {
  readonly status: number;
  /** Headers that many answers share, already encoded: `\r\nName: value` for each. */
  readonly lines: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** One WebSocket. All methods may be called at any time; after the end they do nothing. */
export interface StreamSocket {
  /** Queues one message. False if the buffer of the client is full, or the socket has ended. */
  send(message: string | Uint8Array, binary: boolean): boolean;
  /** From now on, the socket gets each message published to `room` once. A room is a set of sockets that get the same messages. */
  join(room: string): void;
  leave(room: string): void;
  /** Bytes that wait in this process, without those in the kernel. */
  bufferedBytes(): number;
  ping(): void;
  /** Closes with a close frame after the queued messages. */
  end(code: number, reason: string): void;
  /** Closes at once, without a close frame. */
  destroy(): void;
}

export interface SocketHandlers {
  /** `bytes` may be used only until the call returns. */
  onMessage(bytes: Uint8Array, binary: boolean): void;
  /** Some of the queued bytes were sent. */
  onDrain(): void;
  /** The client sent a ping or a pong. */
  onSign(): void;
  /** A published message could not be queued. The socket must be closed, but not during this call. */
  onDropped(): void;
  /** Called once, as the last call. */
  onClose(code: number): void;
}

/**
 * An upgrade is refused with an HTTP answer, or accepted with the handlers of the socket. For `lines`, see `HttpAnswer`. `compress`: agree to
 * the client's offer to compress messages (RFC 7692).
 */
export type UpgradeOutcome =
  | { readonly refused: HttpAnswer }
  | { readonly accept: (socket: StreamSocket) => SocketHandlers; readonly lines: string; readonly compress: boolean };

/** Whether a handshake offers to compress messages (RFC 7692). */
export function offersCompression(request: HttpRequest): boolean {
  return /(?:^|[\s,])permessage-deflate(?:[\s,;]|$)/.test(request.headers.get('sec-websocket-extensions') ?? '');
}

/** The subprotocol that the stream speaks (RFC 6455, section 1.9). */
export const streamSubprotocol = 'sluice';

/** What a handshake offers as subprotocols. One of them may be a key, so they must not be logged or echoed. */
export function offeredSubprotocols(request: HttpRequest): readonly string[] {
  return (request.header('sec-websocket-protocol') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** The body of a request. `too_large`: it has more than `transportLimits.bodyBytes` and was not read. */
export type ReceivedBody = Uint8Array | 'too_large';

export interface TransportHandlers {
  /** Answers a request. Must not throw. If it rejects, `fault` gives the answer. */
  http(request: HttpRequest, body: ReceivedBody): HttpAnswer | Promise<HttpAnswer>;
  /** Answers a request whose end is ambiguous. Must neither throw nor reject. */
  malformed(request: HttpRequest): HttpAnswer | Promise<HttpAnswer>;
  /** Refuses a WebSocket handshake because few file descriptors are left. */
  full(request: HttpRequest): HttpAnswer;
  /** Answers a request whose handler threw. */
  fault(request: HttpRequest): HttpAnswer;
  /**
   * Decides on a WebSocket handshake at `streamPaths`. If it takes time, the promise resolves to a function that makes the final decision. It
   * is called in the turn of the event loop in which the socket opens, so no other socket opens in between. `accept` is then called at once,
   * or never if the client has disconnected.
   */
  upgrade(request: HttpRequest): UpgradeOutcome | Promise<() => UpgradeOutcome>;
}

export interface TransportOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Paths at which a WebSocket may be opened. */
  readonly streamPaths: readonly string[];
  /** Whether another process may listen on the same port (for a handover). Otherwise a port in use is an error. */
  readonly sharePort: boolean;
  /** Time that the transport on node:http gives a client for one request. Tests shorten it. The native server has a fixed limit. */
  readonly slowClientMs?: number;
  readonly log: Logger;
}

/** A listening server. */
export interface Transport {
  readonly kind: 'uws' | 'node';
  readonly port: number;
  readonly descriptors: Pick<Descriptors, 'scarce' | 'closed'>;
  /**
   * Queues one message for every socket in `room`. A socket gets its messages, published or sent, in the order of the calls, starting with the
   * first one after its `join`. `message` may be reused after the call.
   */
  publish(room: string, message: Uint8Array, binary: boolean): void;
  /** Stops accepting connections. Open WebSockets stay open, HTTP connections until their next answer. */
  stopListening(): Promise<void>;
  /** Closes everything that is still open. */
  close(): Promise<void>;
}

/** The text of a status line: `404 Not Found`. */
export function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}

/** The bytes of a body. */
export function bodyLength({ body }: HttpAnswer): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
}

/** The headers in encoded lines (see `HttpAnswer.lines`). */
export function headersIn(lines: string): (readonly [name: string, value: string])[] {
  return lines
    .split('\r\n')
    .slice(1)
    .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]);
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
  /** Largest WebSocket message. For a larger one, the connection is cut without a close frame. */
  messageBytes: streamLimits.cutMessageBytes,
  /** Shorter messages are never compressed: they would hardly become shorter. */
  compressedBytes: 128,
  /** If more bytes wait for one WebSocket, further messages for it are refused. */
  hardBufferBytes: 16 * 1024 * 1024,
} as const;
