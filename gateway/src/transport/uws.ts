import type * as UwsModule from 'uWebSockets.js';
import { Descriptors } from './descriptors.ts';
import { decideUpgrade } from './request.ts';
import {
  offeredSubprotocols,
  streamSubprotocol,
  transportLimits,
  type HttpAnswer,
  type HttpRequest,
  type StreamSocket,
  type SocketHandlers,
  type Transport,
  type TransportHandlers,
  type TransportOptions,
  type UpgradeOutcome,
} from './transport.ts';
import { openCork, type Cork } from './uws-cork.ts';
import { readRequest, Responder, serveHttp, type HttpServing } from './uws-http.ts';
import type { Uws } from './uws-load.ts';

/** The data that uWebSockets.js stores with a WebSocket. `accept` is called once, at `open`, and then sets the other two. */
interface SocketData {
  readonly compress: boolean;
  accept: ((socket: StreamSocket) => SocketHandlers) | null;
  socket: UwsSocket | null;
  handlers: SocketHandlers | null;
}
type NativeSocket = UwsModule.WebSocket<SocketData>;

/** Starts uWebSockets.js. Rejects if it cannot listen on the port, or if a TLS file cannot be read. */
export async function startUwsTransport(uws: Uws, options: TransportOptions, handlers: TransportHandlers): Promise<Transport> {
  const { tls } = options;
  const cork = await openCork(uws);
  const app = tls === null ? uws.App() : uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile });
  const compression: Compression = { options: uws.SHARED_COMPRESSOR | uws.SHARED_DECOMPRESSOR, sockets: 0 };
  let isEnding = false;
  const serving: HttpServing = {
    handlers,
    log: options.log,
    isClosing: () => isEnding || descriptors.scarce,
    isFull: () => descriptors.scarce,
  };
  for (const path of options.streamPaths) app.ws<SocketData>(path, socketBehavior(serving, cork, compression));
  app.any('/*', (res, req) => serveHttp(res, req, serving));
  app.filter((res, change) => {
    if (Number(change) === 1 && !descriptors.admit()) res.close();
  });
  const listenOn = (onPort: number): UwsModule.us_listen_socket | null => listen(app, { ...options, port: onPort });
  let listenSocket = listenOn(options.port);
  if (listenSocket === null) {
    cork.close();
    throw new Error(`cannot listen on ${options.host}:${options.port}`);
  }
  const port = uws.us_socket_local_port(listenSocket);
  const closeListener = (): void => {
    if (listenSocket !== null) uws.us_listen_socket_close(listenSocket);
    listenSocket = null;
  };
  const descriptors = new Descriptors(options.log, { pause: closeListener, resume: () => (listenSocket ??= listenOn(port)) !== null });
  const stop = (): void => {
    isEnding = true;
    descriptors.close();
    closeListener();
  };
  return {
    kind: 'uws',
    port,
    descriptors,
    // Only sockets that agreed to compression get compressed messages. While there are none, the library need not look.
    publish: (room, message, binary) => {
      app.publish(room, message, binary, compression.sockets > 0 && message.length >= transportLimits.compressedBytes);
    },
    stopListening: async () => {
      await quietTurn();
      stop();
    },
    close: async () => {
      stop();
      app.close();
      cork.close();
      // Sockets that were just ended are removed in the next turns of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** A form of `listen` that the types of the library lack. */
interface ListenWithOptions {
  listen(host: string, port: number, options: number, onResult: (token: UwsModule.us_listen_socket | false) => void): void;
}

/** LIBUS_LISTEN_DEFAULT and LIBUS_LISTEN_EXCLUSIVE_PORT. */
const [shared, exclusive] = [0, 1] as const;

/** By default, the library lets other processes listen on the same port (SO_REUSEPORT), whether they serve the same or not. Null: it failed. */
function listen(
  app: UwsModule.TemplatedApp,
  { host, port, sharePort }: Pick<TransportOptions, 'host' | 'port' | 'sharePort'>,
): UwsModule.us_listen_socket | null {
  const made: UwsModule.us_listen_socket[] = [];
  // The callback is called before `listen` returns.
  (app as unknown as ListenWithOptions).listen(host, port, sharePort ? shared : exclusive, (token) => {
    if (token !== false) made.push(token);
  });
  return made[0] ?? null;
}

/** A turn of the event loop that is shorter than this was nearly idle. The wait for such a turn is bounded. */
const quietMs = 0.03;
const maxQuietWaitMs = 500;

/**
 * Resolves right after a turn of the event loop in which hardly anything arrived. Each turn accepts all connections that are ready. Those
 * that become ready later are reset when the listener closes (unless `net.ipv4.tcp_migrate_req` passes them to another listener).
 */
async function quietTurn(): Promise<void> {
  const endMs = performance.now() + maxQuietWaitMs;
  for (let beganMs = performance.now(); beganMs < endMs; beganMs = performance.now()) {
    await new Promise((resolve) => setImmediate(resolve));
    if (performance.now() - beganMs < quietMs) return;
  }
}

// --- WebSockets.

/** All sockets share one compressor and one decompressor: each message is compressed by itself, and a socket needs no memory for it. */
interface Compression {
  readonly options: UwsModule.CompressOptions;
  /** Open sockets whose messages are compressed. */
  sockets: number;
}

class UwsSocket implements StreamSocket {
  /** Null after the close: every call on a closed native socket throws. */
  native: NativeSocket | null;
  readonly #compress: boolean;

  constructor(native: NativeSocket, compress: boolean) {
    this.native = native;
    this.#compress = compress;
  }

  send(message: string | Uint8Array, binary: boolean): boolean {
    const compress = this.#compress && message.length >= transportLimits.compressedBytes;
    // 1: written, 0: queued, 2: dropped.
    return this.native !== null && this.native.send(message, binary, compress) !== 2;
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

interface Handshake {
  readonly res: UwsModule.HttpResponse;
  readonly context: UwsModule.us_socket_context_t;
  readonly request: HttpRequest;
}

function upgrade({ res, context, request }: Handshake, accepted: Accepted, cork: Cork): void {
  res.cork(() => {
    res.writeStatus('101 Switching Protocols');
    res.writeHeader('X-Request-Id', request.requestId + accepted.lines);
  });
  cork.within(() =>
    res.upgrade<SocketData>(
      { compress: accepted.compress, accept: accepted.accept, socket: null, handlers: null },
      request.header('sec-websocket-key') ?? '',
      offeredSubprotocols(request).includes(streamSubprotocol) ? streamSubprotocol : '',
      accepted.compress ? (request.header('sec-websocket-extensions') ?? '') : '',
      context,
    ),
  );
}

function socketBehavior(serving: HttpServing, cork: Cork, compression: Compression): UwsModule.WebSocketBehavior<SocketData> {
  const { handlers, log } = serving;
  const handlersOf = (native: NativeSocket): SocketHandlers => native.getUserData().handlers!;
  return {
    // Also the limit of a compressed message after decompression.
    maxPayloadLength: transportLimits.messageBytes,
    compression: compression.options,
    maxBackpressure: transportLimits.hardBufferBytes,
    // The stream itself sends pings and closes silent clients, in the same way on every transport.
    idleTimeout: 0,
    sendPingsAutomatically: false,
    upgrade: (res, req, context) => {
      const request = readRequest(res, req);
      const responder = new Responder(res, request, serving);
      const fault = (error: unknown): void => {
        log.error({ err: error, requestId: request.requestId }, 'upgrade_failed');
        responder.end(handlers.fault(request));
      };
      const settle = (outcome: UpgradeOutcome): void => {
        if ('refused' in outcome) responder.end(outcome.refused);
        else responder.handOver(() => upgrade({ res, context, request }, outcome, cork));
      };
      if (serving.isFull()) responder.end(handlers.full(request), true);
      else decideUpgrade(request, handlers, settle, fault);
    },
    open: (native) => {
      const data = native.getUserData();
      data.socket = new UwsSocket(native, data.compress);
      if (data.compress) compression.sockets++;
      data.handlers = data.accept!(data.socket);
      data.accept = null;
    },
    message: (native, message, binary) => handlersOf(native).onMessage(Buffer.from(message), binary),
    drain: (native) => handlersOf(native).onDrain(),
    ping: (native) => handlersOf(native).onSign(),
    pong: (native) => handlersOf(native).onSign(),
    dropped: (native) => handlersOf(native).onDropped(),
    close: (native, code) => {
      const { compress, socket, handlers: made } = native.getUserData();
      if (compress) compression.sockets--;
      socket!.native = null;
      made!.onClose(code);
    },
  };
}
