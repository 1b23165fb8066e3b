import { Server as HttpServer, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { hostCheck, isLoopback } from '@sluice/shared/config/loopback.ts';
import { WebSocketServer } from 'ws';
import type { Chain, TransactionRecord } from '../chain.ts';
import { BlockHistory } from './block-history.ts';
import type { RpcContext } from './context.ts';
import { answerBody, calledMethods, encodeAnswer, parseJson } from './dispatch.ts';
import { Connection, maxMessageBytes } from './pubsub/connection.ts';
import { maxBodyBytes, PostReader } from './post-reader.ts';
import { plainDelivery, type Delivery } from './pubsub/delivery.ts';
import { Hub } from './pubsub/hub.ts';
import type { SubscriptionKind } from './pubsub/subscription.ts';
import type { SimnetLog } from './simnet-log.ts';

/** PubSub connections at once; one more is refused with HTTP 503. */
const maxConnections = 1_000;

/** A fault in one HTTP call, on purpose. */
export interface HttpFault {
  readonly delayMs: number;
  /** Answer 429 with this `Retry-After` in seconds; null for a normal answer. */
  readonly tooManyRequestsAfterSeconds: number | null;
}

/** How a faulty server differs from a correct one. Each part has a harmless default. */
export interface ServerBehaviour {
  readonly delivery: Delivery;
  readonly order: (transactions: readonly TransactionRecord[]) => readonly TransactionRecord[];
  readonly slotsBehind: () => number | null;
  readonly http: (methods: readonly string[]) => HttpFault;
  readonly refusesConnections: () => boolean;
  /** `POST /control` with its parsed body; null if the server has no such endpoint. */
  readonly control: ((body: unknown) => { readonly status: number; readonly body: unknown }) | null;
}

const noFault: HttpFault = { delayMs: 0, tooManyRequestsAfterSeconds: null };
const tooManyRequests = '{"jsonrpc":"2.0","error":{"code":429,"message":"Too many requests"},"id":null}';

const goodBehaviour: ServerBehaviour = {
  delivery: plainDelivery,
  order: (transactions) => transactions,
  slotsBehind: () => null,
  http: () => noFault,
  refusesConnections: () => false,
  control: null,
};

export interface ServerStats {
  readonly connections: number;
  readonly notifications: number;
  /** Readers that were cut because more than `maxSendBufferBytes` waited for them. */
  readonly slowReadersCut: number;
  readonly requests: number;
  /** Calls that met a bug of the simulation. */
  readonly internalErrors: number;
}

export interface RpcServer {
  readonly port: number;
  /** Current subscriptions of one kind, or of all kinds. */
  subscriptions(kind?: SubscriptionKind): number;
  stats(): ServerStats;
  /** Most bytes that wait for any one reader. */
  bufferedBytes(): number;
  /** Closes every PubSub connection and every idle or running HTTP connection, without a closing message. */
  cut(): void;
  close(): Promise<void>;
}

interface RpcServerOptions {
  readonly chain: Chain;
  readonly host: string;
  readonly port: number;
  readonly behaviour?: ServerBehaviour;
  readonly log?: SimnetLog;
  /** Transactions in the blocks for `getBlock`; unlimited by default. */
  readonly blockTransactions?: number;
  /** How long notifications may run, in milliseconds, before requests get a turn; unlimited by default. */
  readonly turnMs?: number;
  /**
   * Called when the answer to a JSON-RPC request begins, with the time at which its head was read. The function that it returns is called
   * when the answer is written.
   */
  readonly onRequest?: (beganAtMs: number) => () => void;
}

/** The body of a request as text; null if it is longer than `maxBodyBytes`. Rejects if the client disconnects. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxBodyBytes) chunks.push(chunk);
  }
  return length > maxBodyBytes ? null : Buffer.concat(chunks).toString('utf8');
}

type Parsed = ReturnType<typeof parseJson>;
type Headers = Readonly<Record<string, string>>;
type Reply = (status: number, body: string, headers?: Headers) => void;

function typeOf(body: string): string {
  return body.startsWith('{') || body.startsWith('[') ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8';
}

function reply(response: ServerResponse, status: number, body: string, headers: Headers = {}): void {
  response.writeHead(status, { 'content-type': typeOf(body), ...headers }).end(body);
}

/** The same on a bare socket, in one write. */
function replyOn(socket: Socket, status: number, body: string, headers: Headers = {}): void {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${typeOf(body)}\r\n`;
  for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
  const bytes = Buffer.byteLength(body);
  // Latin-1 is written unchanged.
  socket.write(`${head}content-length: ${bytes}\r\n\r\n${body}`, bytes === body.length ? 'latin1' : 'utf8');
}

const cors = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'content-type, solana-client',
};

const isLocalHost = hostCheck('localhost', []);

/** Whether a program of this machine sends a request, and not a page whose name was pointed here (DNS rebinding). */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  return isLoopback(socket.remoteAddress ?? '') && isLocalHost(headers.host);
}

/** One simulated node: JSON-RPC over HTTP, and PubSub over WebSocket on every path of the same port. */
class SimulatedNode {
  readonly server: Server;
  /** Answers every request that is not plain JSON-RPC; `server` passes the sockets to it. */
  private readonly http: HttpServer;
  readonly hub: Hub;
  readonly blocks: BlockHistory;
  readonly connections = new Set<Connection>();
  private readonly sockets = new Set<Socket>();
  private readonly behaviour: ServerBehaviour;
  private readonly context: RpcContext;
  private readonly wss = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, perMessageDeflate: false });
  private readonly delays = new Set<NodeJS.Timeout>();
  private readonly log: SimnetLog | undefined;
  private readonly onRequest: RpcServerOptions['onRequest'];
  requests = 0;
  slowReadersCut = 0;
  internalErrors = 0;

  constructor({ chain, behaviour = goodBehaviour, log, blockTransactions, turnMs, onRequest }: RpcServerOptions) {
    this.behaviour = behaviour;
    this.log = log;
    this.onRequest = onRequest;
    this.hub = new Hub(chain, behaviour.order, turnMs);
    this.blocks = new BlockHistory(chain, blockTransactions);
    this.context = {
      chain,
      blocks: this.blocks,
      slotsBehind: behaviour.slotsBehind,
      onReceived: (signature) => this.hub.received(signature),
      onBug: (method, error) => {
        this.internalErrors++;
        this.log?.error({ method, err: error }, 'simnet_rpc_failed');
      },
    };
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.accepted(socket));
    this.http = new HttpServer((request, response) => {
      // The client disconnected while its body was read.
      this.handle(request, response).catch(() => response.destroy());
    });
    this.http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => this.upgrade(request, socket, head));
  }

  cut(): void {
    for (const connection of this.connections) connection.cut();
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const timer of this.delays) clearTimeout(timer);
    this.hub.close();
    this.blocks.close();
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.cut();
    this.wss.close();
    await closed;
  }

  private accepted(socket: Socket): void {
    if (this.behaviour.refusesConnections()) {
      // A reset, as from a closed port: after an ordinary end some HTTP clients reconnect at once, endlessly.
      socket.resetAndDestroy();
      return;
    }
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const answer: Reply = (status, body, headers) => replyOn(socket, status, body, headers);
    const reader = new PostReader(
      socket,
      ({ body, beganAtMs }, done) => this.answerRpc(body, beganAtMs, answer, done),
      () => this.http.emit('connection', socket),
    );
    reader.start();
  }

  private upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    if (this.connections.size >= maxConnections) {
      socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    this.wss.handleUpgrade(request, socket, head, (webSocket) => {
      const slow = (): void => void this.slowReadersCut++;
      const connection = new Connection(webSocket, socket, this.hub, this.behaviour.delivery, slow);
      this.connections.add(connection);
      webSocket.once('close', () => this.connections.delete(connection));
    });
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?', 1)[0];
    if (path === '/control') return this.handleControl(request, response);
    if (request.method === 'GET' && path === '/health') {
      const behind = this.behaviour.slotsBehind();
      return reply(response, 200, behind === null ? 'ok' : 'behind');
    }
    if (request.method === 'OPTIONS') return reply(response, 204, '', cors);
    if (request.method !== 'POST') return reply(response, 405, 'Used HTTP Method is not allowed. POST or OPTIONS is required\n');
    if (!isJson(request)) return reply(response, 415, 'Supplied content type is not allowed. Content-Type: application/json is required\n');
    const beganAtMs = performance.now();
    const text = await readBody(request);
    if (text === null) return reply(response, 413, 'Request body is too large\n', { connection: 'close' });
    this.answerRpc(
      text,
      beganAtMs,
      (status, body, headers) => reply(response, status, body, headers),
      () => undefined,
    );
  }

  /** Answers at once, or after the delay of a faulty node; then calls `done`. */
  private answerRpc(text: string, beganAtMs: number, answer: Reply, done: () => void): void {
    this.requests++;
    const parsed = parseJson(text);
    const wrong = parsed.ok ? this.behaviour.http(calledMethods(parsed.value)) : noFault;
    if (wrong.delayMs > 0) this.delay(wrong.delayMs, () => this.answerParsed(parsed, wrong, beganAtMs, answer, done));
    else this.answerParsed(parsed, wrong, beganAtMs, answer, done);
  }

  private answerParsed(parsed: Parsed, wrong: HttpFault, beganAtMs: number, answer: Reply, done: () => void): void {
    const answered = this.onRequest?.(beganAtMs);
    if (!parsed.ok) answer(200, encodeAnswer(null, parsed), cors);
    else if (wrong.tooManyRequestsAfterSeconds === null) answer(200, answerBody(this.context, parsed.value) ?? '', cors);
    else answer(429, tooManyRequests, { ...cors, 'retry-after': String(wrong.tooManyRequestsAfterSeconds) });
    answered?.();
    done();
  }

  /** Only for programs on this machine: a page in a browser cannot send this content type without a preflight, which fails. */
  private async handleControl(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { control } = this.behaviour;
    if (control === null || !isLocal(request)) return reply(response, 404, 'Not found\n');
    if (request.method !== 'POST') return reply(response, 405, 'POST is required\n');
    if (!isJson(request)) return reply(response, 415, 'Content-Type: application/json is required\n');
    const text = await readBody(request);
    const parsed = text === null ? null : parseJson(text);
    if (parsed === null || !parsed.ok) return reply(response, 400, '{"error":"the body is not JSON of a command"}');
    const outcome = control(parsed.value);
    return reply(response, outcome.status, JSON.stringify(outcome.body));
  }

  private delay(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.delays.delete(timer);
      run();
    }, ms);
    this.delays.add(timer);
  }
}

function isJson(request: IncomingMessage): boolean {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** Starts the RPC and PubSub server of a chain. Rejects if it cannot listen on the address. */
export async function startRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  const node = new SimulatedNode(options);
  await new Promise<void>((resolve, reject) => {
    node.server.once('error', reject);
    node.server.listen(options.port, options.host, () => {
      node.server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (node.server.address() as AddressInfo).port,
    subscriptions: (kind) => node.hub.count(kind),
    stats: () => ({
      connections: node.connections.size,
      notifications: node.hub.notifications,
      slowReadersCut: node.slowReadersCut,
      requests: node.requests,
      internalErrors: node.internalErrors,
    }),
    bufferedBytes: () => Math.max(0, ...[...node.connections].map((connection) => connection.bufferedBytes)),
    cut: () => node.cut(),
    close: () => node.close(),
  };
}
