import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import type { Chain, TransactionRecord } from '../chain.ts';
import { BlockHistory } from './block-history.ts';
import type { RpcContext } from './context.ts';
import { answerBody, calledMethods, encodeAnswer, parseJson } from './dispatch.ts';
import { Connection, maxMessageBytes } from './pubsub/connection.ts';
import { plainDelivery, type Delivery } from './pubsub/delivery.ts';
import { Hub } from './pubsub/hub.ts';
import type { SubscriptionKind } from './pubsub/subscription.ts';
import type { SimnetLog } from './simnet-log.ts';

/** Bytes of one HTTP request body (`MAX_REQUEST_BODY_SIZE` of a node); a longer one is answered 413. */
const maxBodyBytes = 50 * 1024;
/** PubSub connections at once; one more is refused with HTTP 503. */
const maxConnections = 1_000;

/** What may go wrong with one HTTP call on purpose. */
export interface HttpFault {
  readonly delayMs: number;
  /** Answer 429 with this `Retry-After` in seconds, null for a proper answer. */
  readonly tooManyRequestsAfterSeconds: number | null;
}

/** Where a misbehaving server differs from a good one; all parts have harmless defaults. */
export interface ServerBehaviour {
  readonly delivery: Delivery;
  readonly order: (transactions: readonly TransactionRecord[]) => readonly TransactionRecord[];
  readonly slotsBehind: () => number | null;
  readonly http: (methods: readonly string[]) => HttpFault;
  readonly refusesConnections: () => boolean;
  /** `POST /control` with its parsed body; null where there is no such thing. */
  readonly control: ((body: unknown) => { readonly status: number; readonly body: unknown }) | null;
}

const goodBehaviour: ServerBehaviour = {
  delivery: plainDelivery,
  order: (transactions) => transactions,
  slotsBehind: () => null,
  http: () => ({ delayMs: 0, tooManyRequestsAfterSeconds: null }),
  refusesConnections: () => false,
  control: null,
};

export interface ServerStats {
  readonly connections: number;
  readonly notifications: number;
  /** Readers cut because more than `maxSendBufferBytes` waited for them. */
  readonly slowReadersCut: number;
  readonly requests: number;
  /** Calls that met a bug of the simulation. */
  readonly internalErrors: number;
}

export interface RpcServer {
  readonly port: number;
  /** Subscriptions of one kind, or all, that are held now. */
  subscriptions(kind?: SubscriptionKind): number;
  stats(): ServerStats;
  /** Most bytes that wait for any one reader. */
  bufferedBytes(): number;
  /** Closes every PubSub connection and every idle or running HTTP one, without a farewell. */
  cut(): void;
  close(): Promise<void>;
}

interface RpcServerOptions {
  readonly chain: Chain;
  readonly host: string;
  readonly port: number;
  readonly behaviour?: ServerBehaviour;
  readonly log?: SimnetLog;
}

/** The body of a request as text; null when it is longer than `maxBodyBytes`. Rejects when the client goes away. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxBodyBytes) chunks.push(chunk);
  }
  return length > maxBodyBytes ? null : Buffer.concat(chunks).toString('utf8');
}

function reply(response: ServerResponse, status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
  const type = body.startsWith('{') || body.startsWith('[') ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8';
  response.writeHead(status, { 'content-type': type, ...headers }).end(body);
}

const cors = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'content-type, solana-client',
};

function isLoopback(request: IncomingMessage): boolean {
  const address = request.socket.remoteAddress ?? '';
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}

/** One simulated node: JSON-RPC over HTTP, and PubSub over WebSocket on every path of the same port. */
class SimulatedNode {
  readonly http: Server;
  readonly hub: Hub;
  readonly blocks: BlockHistory;
  readonly connections = new Set<Connection>();
  private readonly sockets = new Set<Socket>();
  private readonly behaviour: ServerBehaviour;
  private readonly context: RpcContext;
  private readonly wss = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, perMessageDeflate: false });
  private readonly delays = new Set<NodeJS.Timeout>();
  private readonly log: SimnetLog | undefined;
  requests = 0;
  slowReadersCut = 0;
  internalErrors = 0;

  constructor(chain: Chain, behaviour: ServerBehaviour, log: SimnetLog | undefined) {
    this.behaviour = behaviour;
    this.log = log;
    this.hub = new Hub(chain, behaviour.order);
    this.blocks = new BlockHistory(chain);
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
    this.http = createServer((request, response) => {
      // The client went away while its body was read.
      this.handle(request, response).catch(() => response.destroy());
    });
    this.http.on('connection', (socket) => this.accepted(socket));
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
    const closed = new Promise<void>((resolve) => this.http.close(() => resolve()));
    this.cut();
    this.wss.close();
    await closed;
  }

  private accepted(socket: Socket): void {
    if (this.behaviour.refusesConnections()) {
      // A reset, as a closed port gives: on a plain end some HTTP clients connect again at once, without end.
      socket.resetAndDestroy();
      return;
    }
    socket.setNoDelay(true);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
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
    const text = await readBody(request);
    if (text === null) return reply(response, 413, 'Request body is too large\n', { connection: 'close' });
    return this.handleRpc(text, response);
  }

  private async handleRpc(text: string, response: ServerResponse): Promise<void> {
    this.requests++;
    const parsed = parseJson(text);
    if (!parsed.ok) return reply(response, 200, encodeAnswer(null, parsed), cors);
    const wrong = this.behaviour.http(calledMethods(parsed.value));
    if (wrong.delayMs > 0) await this.delay(wrong.delayMs);
    if (wrong.tooManyRequestsAfterSeconds !== null) {
      const body = '{"jsonrpc":"2.0","error":{"code":429,"message":"Too many requests"},"id":null}';
      return reply(response, 429, body, { ...cors, 'retry-after': String(wrong.tooManyRequestsAfterSeconds) });
    }
    const body = answerBody(this.context, parsed.value);
    return reply(response, 200, body ?? '', cors);
  }

  /** Only for programs on this machine: no page of a browser gets through the content type without a preflight, which fails. */
  private async handleControl(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { control } = this.behaviour;
    if (control === null || !isLoopback(request)) return reply(response, 404, 'Not found\n');
    if (request.method !== 'POST') return reply(response, 405, 'POST is required\n');
    if (!isJson(request)) return reply(response, 415, 'Content-Type: application/json is required\n');
    const text = await readBody(request);
    const parsed = text === null ? null : parseJson(text);
    if (parsed === null || !parsed.ok) return reply(response, 400, '{"error":"the body is not JSON of a command"}');
    const outcome = control(parsed.value);
    return reply(response, outcome.status, JSON.stringify(outcome.body));
  }

  private delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.delays.delete(timer);
        resolve();
      }, ms);
      this.delays.add(timer);
    });
  }
}

function isJson(request: IncomingMessage): boolean {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** Starts the RPC and PubSub server of a chain. Rejects when the address cannot be listened on. */
export async function startRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  const node = new SimulatedNode(options.chain, options.behaviour ?? goodBehaviour, options.log);
  await new Promise<void>((resolve, reject) => {
    node.http.once('error', reject);
    node.http.listen(options.port, options.host, () => {
      node.http.off('error', reject);
      resolve();
    });
  });
  return {
    port: (node.http.address() as AddressInfo).port,
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
