import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { Server as NetServer, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { Descriptors } from './descriptors.ts';
import { decideUpgrade, ReceivedRequest } from './request.ts';
import {
  bodyLength,
  headersIn,
  isBodiless,
  offeredSubprotocols,
  statusText,
  streamSubprotocol,
  transportLimits,
  type HttpAnswer,
  type HttpRequest,
  type ReceivedBody,
  type StreamSocket,
  type SocketHandlers,
  type Transport,
  type TransportHandlers,
  type TransportOptions,
  type UpgradeOutcome,
} from './transport.ts';

/**
 * A transport on node:http and ws, with the same behaviour as the native one and a tenth of its speed. It is used if the native binary does
 * not load.
 */
export async function startNodeTransport(options: TransportOptions, handlers: TransportHandlers): Promise<Transport> {
  const { tls, slowClientMs = leftWithinMs } = options;
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    // Once listening has ended, every answer is the last one of its connection.
    void serve({ req, res, isClosing: () => closed !== null || descriptors.scarce }, handlers, options);
  };
  let closed: Promise<void> | null = null;
  const serverOptions = {
    requestTimeout: slowClientMs,
    headersTimeout: slowClientMs,
    connectionsCheckingInterval: slowClientMs / 12,
    keepAliveTimeout: (slowClientMs / 12) * 10,
    maxHeaderSize: 16 * 1024,
  };
  const server: Server =
    tls === null
      ? createHttpServer(serverOptions, listener)
      : createHttpsServer({ ...serverOptions, cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) }, listener);
  const rooms = new Rooms();
  const sockets = new WebSocketServer(socketOptions);
  const responses = new Map<IncomingMessage, string>();
  sockets.on('headers', (lines, req) => {
    const own = responses.get(req);
    if (own !== undefined) lines.push(own);
    responses.delete(req);
  });
  // Without a listener, node:http refuses unknown expectations. They are ignored here, like in the native transport.
  server.on('checkExpectation', listener);
  server.on('connection', (socket: Duplex) => {
    if (!descriptors.admit()) socket.destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, raw: Duplex) => refuseBroken(raw, error, handlers));
  server.on('upgrade', (req: IncomingMessage, raw: Duplex, head: Buffer) => {
    upgrade({ req, raw, head, sockets, rooms, responses, descriptors }, handlers, options);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // Without a descriptor, node:http uses one that it keeps for this to accept and close the next client. So the listener need not pause.
  const descriptors = new Descriptors(options.log, { pause: () => undefined, resume: () => true });
  const stopListening = async (): Promise<void> => {
    // `close` of node:http would also end idle connections. They must stay open until our `close`.
    descriptors.close();
    closed ??= new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  };
  return {
    kind: 'node',
    descriptors,
    port: (server.address() as AddressInfo).port,
    publish: (room, message, binary) => rooms.publish(room, message, binary),
    stopListening,
    close: async () => {
      await stopListening();
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Each message is compressed by itself, as in the native transport. */
const compression = { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: transportLimits.compressedBytes };

const socketOptions = {
  noServer: true,
  perMessageDeflate: compression,
  // Also the limit of a compressed message after decompression.
  maxPayload: transportLimits.messageBytes,
  // By default, a burst of pings ends the connection without a close frame. The stream limits pings itself.
  maxPendingAutoPongs: 0,
};

// --- HTTP.

/** Ends a response, unless it has ended already or its connection is closed. */
function respond(res: ServerResponse, request: HttpRequest, answer: HttpAnswer, closeConnection = false): void {
  if (res.headersSent || res.destroyed) return;
  res.writeHead(answer.status, [...headerPairs(request, answer).flat(), ...(closeConnection ? ['Connection', 'close'] : [])]);
  res.end(res.req.method === 'HEAD' || isBodiless(answer.status) ? undefined : answer.body);
}

function headerPairs({ requestId }: HttpRequest, answer: HttpAnswer): (readonly [string, string])[] {
  const length = isBodiless(answer.status) ? [] : [['Content-Length', String(bodyLength(answer))] as const];
  return [['X-Request-Id', requestId], ...headersIn(answer.lines), ...Object.entries(answer.headers), ...length];
}

/** Connections on which nothing more is served, because it is ambiguous where the next request begins. */
const ambiguous = new WeakSet<Duplex>();

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Whether this is the last request of its connection. */
  readonly isClosing: () => boolean;
}

async function serve({ req, res, isClosing }: Exchange, handlers: TransportHandlers, { log }: TransportOptions): Promise<void> {
  if (ambiguous.has(req.socket)) return;
  const request = readRequest(req);
  // The connection broke, so there is no one to answer.
  req.on('error', () => res.destroy());
  res.on('error', () => res.destroy());
  if (!request.isCodingKnown) {
    ambiguous.add(req.socket);
    respond(res, request, await handlers.malformed(request), true);
    req.resume();
    return;
  }
  const body = await readBody(req);
  if (body === 'aborted') return;
  // The unread rest of the body still arrives, so the connection cannot be reused.
  const unread = body === 'too_large';
  try {
    const answer = await handlers.http(request, body);
    respond(res, request, answer, unread || isClosing());
  } catch (error) {
    log.error({ err: error, requestId: request.requestId, path: request.path }, 'http_handler_failed');
    respond(res, request, handlers.fault(request), unread || isClosing());
  }
  if (unread) req.resume();
}

function readBody(req: IncomingMessage): Promise<ReceivedBody | 'aborted'> {
  if (Number(req.headers['content-length'] ?? 0) > transportLimits.bodyBytes) return Promise.resolve('too_large');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    req.on('data', (chunk: Buffer) => {
      length += chunk.byteLength;
      if (length > transportLimits.bodyBytes) {
        req.removeAllListeners('data');
        resolve('too_large');
      } else chunks.push(chunk);
    });
    req.on('end', () => resolve(Buffer.concat(chunks)));
    req.on('close', () => resolve('aborted'));
  });
}

function readRequest(req: IncomingMessage): ReceivedRequest {
  const url = req.url ?? '/';
  const mark = url.indexOf('?');
  const fields = req.rawHeaders.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text));
  const path = mark === -1 ? url : url.slice(0, mark);
  return new ReceivedRequest(req.method ?? 'GET', path, mark === -1 ? '' : url.slice(mark + 1), fields, req.socket.remoteAddress ?? '');
}

/** Bytes that node:http could not read as a request: two lengths, a broken line, too many headers. */
function refuseBroken(raw: Duplex, error: NodeJS.ErrnoException, handlers: TransportHandlers): void {
  // It was answered already, and the connection ends with that answer.
  if (ambiguous.has(raw)) return;
  if (!raw.writable || error.code === 'ECONNRESET') return void raw.destroy();
  const request = new ReceivedRequest('', '', '', [], '');
  void Promise.resolve(handlers.malformed(request)).then((answer) => writeRaw(raw, request, answer));
}

function writeRaw(raw: Duplex, request: HttpRequest, answer: HttpAnswer): void {
  const lines = headerPairs(request, answer).map(([name, value]) => `${name}: ${value}\r\n`);
  raw.on('error', () => raw.destroy());
  raw.write(`HTTP/1.1 ${statusText(answer.status)}\r\n${lines.join('')}Connection: close\r\n\r\n`);
  raw.end(isBodiless(answer.status) || request.method === 'HEAD' ? '' : answer.body);
  // Discards what still arrives, for a while. Otherwise the end of the connection would not be noticed.
  raw.resume();
  const cut = setTimeout(() => raw.destroy(), leftWithinMs);
  raw.once('close', () => clearTimeout(cut));
}

/** Time to read the rest that node:http does not read. */
const leftWithinMs = 12_000;

/** Reads the body of a request for another protocol. node:http does not read it. */
function readLeftBody(raw: Duplex, head: Buffer, length: number): Promise<ReceivedBody | 'aborted'> {
  if (length > transportLimits.bodyBytes) return Promise.resolve('too_large');
  return new Promise((resolve) => {
    let body = head;
    const finish = (outcome: Uint8Array | 'aborted'): void => {
      clearTimeout(timer);
      raw.off('data', look);
      resolve(outcome);
    };
    const look = (chunk: Buffer): void => {
      body = Buffer.concat([body, chunk]);
      if (body.byteLength >= length) finish(body.subarray(0, length));
    };
    const timer = setTimeout(() => raw.destroy(), leftWithinMs);
    raw.on('close', () => finish('aborted'));
    raw.on('data', look);
    look(Buffer.alloc(0));
  });
}

/** Answers a request that offers another protocol like any other request. Some clients offer HTTP/2 with every first request. */
async function serveOffer({ req, raw, head }: Upgrade, request: ReceivedRequest, handlers: TransportHandlers): Promise<HttpAnswer | null> {
  if (request.header('transfer-encoding') !== undefined) return handlers.malformed(request);
  const body = await readLeftBody(raw, head, Number(req.headers['content-length'] ?? 0));
  return body === 'aborted' ? null : handlers.http(request, body);
}

// --- WebSockets.

interface Upgrade {
  readonly req: IncomingMessage;
  readonly raw: Duplex;
  readonly head: Buffer;
  readonly sockets: WebSocketServer;
  readonly rooms: Rooms;
  readonly descriptors: Descriptors;
  /** Header lines of the answer that accepts each. */
  readonly responses: Map<IncomingMessage, string>;
}

function upgrade(asked: Upgrade, handlers: TransportHandlers, { log, streamPaths }: TransportOptions): void {
  const { req, raw, head, sockets, rooms, responses, descriptors } = asked;
  const request = readRequest(req);
  raw.on('error', () => raw.destroy());
  const settle = (outcome: UpgradeOutcome): void => {
    if (raw.destroyed) return;
    if ('refused' in outcome) {
      writeRaw(raw, request, outcome.refused);
      return;
    }
    responses.set(req, `X-Request-Id: ${request.requestId}${outcome.lines}`);
    raw.once('close', () => responses.delete(req));
    if (!outcome.compress) delete req.headers['sec-websocket-extensions'];
    // ws echoes the first of these.
    if (offeredSubprotocols(request).includes(streamSubprotocol)) req.headers['sec-websocket-protocol'] = streamSubprotocol;
    else delete req.headers['sec-websocket-protocol'];
    sockets.handleUpgrade(req, raw, head, (native) => attach(native, rooms, outcome.accept));
  };
  const fault = (error: unknown): void => {
    log.error({ err: error, requestId: request.requestId }, 'upgrade_failed');
    if (!raw.destroyed) writeRaw(raw, request, handlers.fault(request));
  };
  if (streamPaths.includes(request.path)) {
    if (descriptors.scarce) settle({ refused: handlers.full(request) });
    else decideUpgrade(request, handlers, settle, fault);
    return;
  }
  serveOffer(asked, request, handlers)
    .then((answer) => (answer === null ? undefined : settle({ refused: answer })))
    .catch(fault);
}

function attach(native: WebSocket, rooms: Rooms, accept: (socket: StreamSocket) => SocketHandlers): void {
  const socket = new NodeSocket(native, rooms);
  const handlers = accept(socket);
  socket.handlers = handlers;
  native.on('message', (data: RawData, binary: boolean) => {
    if (!socket.ended) handlers.onMessage(Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer), binary);
  });
  native.on('ping', () => handlers.onSign());
  native.on('pong', () => handlers.onSign());
  // A protocol error or a broken link: ws closes the socket and emits 'close'.
  native.on('error', () => socket.leaveAll());
  native.on('close', (code: number) => socket.finish(code));
}

class NodeSocket implements StreamSocket {
  readonly #native: WebSocket;
  readonly #rooms: Rooms;
  readonly #joined = new Set<string>();
  handlers: SocketHandlers | null = null;
  ended = false;

  constructor(native: WebSocket, rooms: Rooms) {
    this.#native = native;
    this.#rooms = rooms;
  }

  send(message: string | Uint8Array, binary: boolean): boolean {
    // Copied, because the caller may reuse its bytes before ws writes them.
    return this.#write(typeof message === 'string' ? message : Buffer.from(message), binary);
  }

  /** As `send`, without a copy of `message`. A refusal is reported by `onDropped`, like for published messages. */
  deliver(message: Uint8Array, binary: boolean): void {
    if (!this.ended && !this.#write(message, binary)) this.handlers?.onDropped();
  }

  #write(message: string | Uint8Array, binary: boolean): boolean {
    if (this.ended || this.#native.bufferedAmount > transportLimits.hardBufferBytes) return false;
    const waited = this.#native.bufferedAmount > 0;
    this.#native.send(message, { binary }, waited ? () => this.#drained() : undefined);
    return true;
  }

  #drained(): void {
    if (!this.ended) this.handlers?.onDrain();
  }

  join(room: string): void {
    if (this.ended) return;
    this.#joined.add(room);
    this.#rooms.join(room, this);
  }

  leave(room: string): void {
    this.#joined.delete(room);
    this.#rooms.leave(room, this);
  }

  leaveAll(): void {
    for (const room of this.#joined) this.#rooms.leave(room, this);
    this.#joined.clear();
  }

  bufferedBytes(): number {
    return this.#native.bufferedAmount;
  }

  ping(): void {
    if (!this.ended) this.#native.ping();
  }

  end(code: number, reason: string): void {
    if (this.ended) return;
    this.#native.close(code, reason);
    this.finish(code);
  }

  destroy(): void {
    this.#native.terminate();
    this.finish(1006);
  }

  finish(code: number): void {
    if (this.ended) return;
    this.ended = true;
    this.leaveAll();
    this.handlers?.onClose(code);
  }
}

/** Rooms and their sockets. A room exists while it has a member. */
class Rooms {
  readonly #rooms = new Map<string, Set<NodeSocket>>();

  join(room: string, socket: NodeSocket): void {
    const sockets = this.#rooms.get(room);
    if (sockets === undefined) this.#rooms.set(room, new Set([socket]));
    else sockets.add(socket);
  }

  leave(room: string, socket: NodeSocket): void {
    const sockets = this.#rooms.get(room);
    if (sockets?.delete(socket) === true && sockets.size === 0) this.#rooms.delete(room);
  }

  publish(room: string, message: Uint8Array, binary: boolean): void {
    const sockets = this.#rooms.get(room);
    if (sockets === undefined) return;
    const copy = Buffer.from(message);
    for (const socket of sockets) socket.deliver(copy, binary);
  }
}
