import type * as UwsModule from 'uWebSockets.js';
import { probePort } from './port-probe.ts';
import { requestId } from './request-id.ts';
import { statusText } from './status-text.ts';
import {
  transportLimits,
  type HttpAnswer,
  type HttpRequest,
  type ReceivedBody,
  type Socket,
  type SocketHandlers,
  type Transport,
  type TransportHandlers,
  type TransportOptions,
  type UpgradeOutcome,
} from './transport.ts';
import type { Uws } from './uws-load.ts';

type Res = UwsModule.HttpResponse;
type Req = UwsModule.HttpRequest;
/** What uWebSockets.js keeps with a WebSocket. `accept` is called once, at `open`; from then on the other two stand. */
interface SocketData {
  accept: ((socket: Socket) => SocketHandlers) | null;
  socket: UwsSocket | null;
  handlers: SocketHandlers | null;
}
type NativeSocket = UwsModule.WebSocket<SocketData>;

const noBody = new Uint8Array(0);
const addressDecoder = new TextDecoder();

/** Starts uWebSockets.js. Rejects where the port cannot be had or a TLS file cannot be read. */
export async function startUwsTransport(uws: Uws, options: TransportOptions, handlers: TransportHandlers): Promise<Transport> {
  if (options.port !== 0 && !options.sharePort) await probePort(options.host, options.port);
  const { tls } = options;
  const app = tls === null ? uws.App() : uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile });
  for (const path of options.streamPaths) app.ws<SocketData>(path, socketBehavior(handlers, options));
  app.any('/*', (res, req) => serve(res, req, handlers, options));
  const listenSocket = await new Promise<UwsModule.us_listen_socket>((resolve, reject) => {
    app.listen(options.host, options.port, (token) => {
      if (token === false) reject(new Error(`cannot listen on ${options.host}:${options.port}`));
      else resolve(token);
    });
  });
  const port = uws.us_socket_local_port(listenSocket);
  let listening = true;
  const stopListening = (): void => {
    if (listening) uws.us_listen_socket_close(listenSocket);
    listening = false;
  };
  return {
    kind: 'uws',
    port,
    publish: (room, message, binary) => void app.publish(room, message, binary),
    stopListening,
    close: async () => {
      stopListening();
      app.close();
      // Sockets that were just ended leave the loop in its next turns.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

// --- HTTP. Nothing outside this part touches `req` or `res`: `req` is dead when a handler returns, `res` after an abort
// or an end, and a handler that returns without an end or an abort handler aborts the process.

/** A response that can be ended at most once and never after its abort. */
class Responder {
  readonly #res: Res;
  readonly #head: boolean;
  #open = true;

  constructor(res: Res, head: boolean) {
    this.#res = res;
    this.#head = head;
    res.onAborted(() => {
      this.#open = false;
    });
  }

  get open(): boolean {
    return this.#open;
  }

  /** Leaves the response to `write`, which ends it otherwise; not called where the client has gone. */
  handOver(write: () => void): void {
    if (!this.#open) return;
    this.#open = false;
    this.#res.cork(write);
  }

  end(answer: HttpAnswer, closeConnection = false): void {
    if (!this.#open) return;
    this.#open = false;
    const res = this.#res;
    res.cork(() => {
      res.writeStatus(statusText(answer.status));
      for (const name of Object.keys(answer.headers)) res.writeHeader(name, answer.headers[name]!);
      if (this.#head || answer.status === 204) res.endWithoutBody(bodyLength(answer.body), closeConnection);
      else res.end(answer.body, closeConnection);
    });
  }
}

function serve(res: Res, req: Req, handlers: TransportHandlers, { log }: TransportOptions): void {
  const responder = new Responder(res, req.getMethod() === 'head');
  const { request, ambiguousLength } = readRequest(res, req);
  if (ambiguousLength) {
    // Two lengths are two readings of where the next request begins. The answer waits for a turn of the loop: while it is
    // due, a request hidden behind this one makes uWebSockets.js cut the connection; after it, the connection is closed.
    setImmediate(() => void answerMalformed(responder, request, handlers));
    return;
  }
  const declared = request.headers.get('content-length');
  if (declared === undefined && !request.headers.has('transfer-encoding')) {
    handle(responder, request, noBody, handlers, log);
    return;
  }
  if (declared !== undefined && Number(declared) > transportLimits.bodyBytes) {
    handle(responder, request, 'too_large', handlers, log);
    return;
  }
  const chunks: Buffer[] = [];
  let length = 0;
  let handed = false;
  res.onData((chunk, isLast) => {
    if (handed || !responder.open) return;
    length += chunk.byteLength;
    handed = isLast || length > transportLimits.bodyBytes;
    if (length > transportLimits.bodyBytes) {
      handle(responder, request, 'too_large', handlers, log);
      return;
    }
    if (chunk.byteLength > 0) chunks.push(Buffer.from(Buffer.from(chunk)));
    if (isLast) handle(responder, request, Buffer.concat(chunks), handlers, log);
  });
}

async function answerMalformed(responder: Responder, request: HttpRequest, handlers: TransportHandlers): Promise<void> {
  responder.end(await handlers.malformed(request), true);
}

function handle(
  responder: Responder,
  request: HttpRequest,
  body: ReceivedBody,
  handlers: TransportHandlers,
  log: TransportOptions['log'],
): void {
  const fault = (error: unknown): void => {
    log.error({ err: error, requestId: request.requestId, path: request.path }, 'http_handler_failed');
    responder.end(handlers.fault(request), unread);
  };
  // What was not read still comes: the connection is of no more use.
  const unread = body === 'too_large';
  try {
    const outcome = handlers.http(request, body);
    if (outcome instanceof Promise) outcome.then((made) => responder.end(made, unread), fault);
    else responder.end(outcome, unread);
  } catch (error) {
    fault(error);
  }
}

function readRequest(res: Res, req: Req): { request: HttpRequest; ambiguousLength: boolean } {
  const headers = new Map<string, string>();
  let lengths = 0;
  req.forEach((name, value) => {
    if (name === 'content-length') lengths++;
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  });
  const path = req.getUrl();
  const query = req.getQuery() as string | undefined;
  const request = {
    method: req.getMethod().toUpperCase(),
    urlChars: path.length + (query === undefined ? 0 : query.length + 1),
    path,
    query: new URLSearchParams(query),
    headers,
    remoteAddress: addressDecoder.decode(res.getRemoteAddressAsText()),
    requestId: requestId(headers.get('x-request-id')),
  };
  return { request, ambiguousLength: lengths > 1 };
}

function bodyLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
}

// --- WebSockets.

class UwsSocket implements Socket {
  /** Null after the close: every call on a closed native socket throws. */
  native: NativeSocket | null;

  constructor(native: NativeSocket) {
    this.native = native;
  }

  send(message: string | Uint8Array, binary: boolean): boolean {
    // 1: written, 0: queued, 2: dropped.
    return this.native !== null && this.native.send(message, binary) !== 2;
  }

  join(room: string): void {
    this.native?.subscribe(room);
  }

  leave(room: string): void {
    this.native?.unsubscribe(room);
  }

  bufferedBytes(): number {
    return this.native?.getBufferedAmount() ?? 0;
  }

  ping(): void {
    this.native?.ping();
  }

  end(code: number, reason: string): void {
    this.native?.end(code, reason);
  }

  destroy(): void {
    this.native?.close();
  }
}

type Accepted = Exclude<UpgradeOutcome, { readonly refused: HttpAnswer }>;

function upgrade(res: Res, { headers }: HttpRequest, accepted: Accepted, context: UwsModule.us_socket_context_t): void {
  res.writeStatus('101 Switching Protocols');
  for (const name of Object.keys(accepted.headers)) res.writeHeader(name, accepted.headers[name]!);
  res.upgrade<SocketData>(
    { accept: accepted.accept, socket: null, handlers: null },
    headers.get('sec-websocket-key') ?? '',
    // One of those that were offered, not the whole list.
    (headers.get('sec-websocket-protocol') ?? '').split(',')[0]!.trim(),
    headers.get('sec-websocket-extensions') ?? '',
    context,
  );
}

function socketBehavior(handlers: TransportHandlers, { log }: TransportOptions): UwsModule.WebSocketBehavior<SocketData> {
  const handlersOf = (native: NativeSocket): SocketHandlers => native.getUserData().handlers!;
  return {
    maxPayloadLength: transportLimits.messageBytes,
    maxBackpressure: transportLimits.hardBufferBytes,
    // The stream pings and times out by itself, the same way on every transport.
    idleTimeout: 0,
    sendPingsAutomatically: false,
    upgrade: (res, req, context) => {
      const responder = new Responder(res, false);
      const { request } = readRequest(res, req);
      const fault = (error: unknown): void => {
        log.error({ err: error, requestId: request.requestId }, 'upgrade_failed');
        responder.end(handlers.fault(request));
      };
      const carryOut = (outcome: UpgradeOutcome): void => {
        if ('refused' in outcome) responder.end(outcome.refused);
        else responder.handOver(() => upgrade(res, request, outcome, context));
      };
      try {
        const outcome = handlers.upgrade(request);
        if (outcome instanceof Promise) outcome.then(carryOut).catch(fault);
        else carryOut(outcome);
      } catch (error) {
        fault(error);
      }
    },
    open: (native) => {
      const data = native.getUserData();
      data.socket = new UwsSocket(native);
      data.handlers = data.accept!(data.socket);
      data.accept = null;
    },
    message: (native, message, binary) => handlersOf(native).onMessage(Buffer.from(message), binary),
    drain: (native) => handlersOf(native).onDrain(),
    ping: (native) => handlersOf(native).onSign(),
    pong: (native) => handlersOf(native).onSign(),
    dropped: (native) => handlersOf(native).onDropped(),
    close: (native, code) => {
      const { socket, handlers: made } = native.getUserData();
      socket!.native = null;
      made!.onClose(code);
    },
  };
}
