import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { genesisHashOf } from '../simnet/ledger/genesis-hash.ts';

/** The answer to a call: a result, a JSON-RPC error, or no answer. */
export type Answer = { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } } | 'silence';

export interface ScriptedNode {
  readonly httpUrl: string;
  readonly wsUrl: string;
  /** Methods and parameters of the HTTP calls, in order. */
  readonly calls: { readonly method: string; readonly params: readonly unknown[] }[];
  /** Subscriptions of the open connections. */
  readonly subscriptions: ReadonlyMap<WebSocket, ReadonlyMap<number, { readonly method: string; readonly params: readonly unknown[] }>>;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Answers HTTP calls; by default with the genesis hash and no accounts. */
  onCall: (method: string, params: readonly unknown[]) => Answer | Promise<Answer>;
  /** Answers subscriptions; undefined: with the next id, as a node does. */
  onSubscribe: ((method: string, params: readonly unknown[], socket: WebSocket) => Answer | undefined) | null;
  /** While true, slots are reported every 50 ms. */
  reportsSlots: boolean;
  slot: number;
  /** Sends bytes unchanged to every connection. */
  send(frame: string | Buffer): void;
  /** Sends a notification to every connection that subscribed to `method`, with the id of its subscription. */
  notify(method: string, subscribeMethod: string, result: unknown, only?: (params: readonly unknown[]) => boolean): void;
  logs(signature: string, logs: readonly string[], options?: { readonly err?: unknown; readonly slot?: number }): void;
  account(address: string, owner: string, data: Uint8Array): void;
  programAccount(program: string, address: string, data: Uint8Array): void;
  cut(): void;
  close(): Promise<void>;
}

/** One account in the form of the RPC. */
export function accountJson(owner: string, data: Uint8Array): unknown {
  return {
    lamports: 1_000_000,
    owner,
    data: [Buffer.from(data).toString('base64'), 'base64'],
    executable: false,
    rentEpoch: 0,
    space: data.length,
  };
}

/** Accounts by address, for answers to `getMultipleAccounts` and `getAccountInfo`. */
export function accountAnswers(accounts: ReadonlyMap<string, unknown>, slot = 1): (method: string, params: readonly unknown[]) => Answer {
  return (method, params) => {
    if (method === 'getGenesisHash') return { result: genesisHashOf('scripted') };
    if (method === 'getAccountInfo') return { result: { context: { slot }, value: accounts.get(String(params[0])) ?? null } };
    if (method === 'getMultipleAccounts') {
      const value = (params[0] as string[]).map((address) => accounts.get(address) ?? null);
      return { result: { context: { slot }, value } };
    }
    if (method === 'getTransaction') return { result: null };
    return { error: { code: -32601, message: 'Method not found' } };
  };
}

/** A node with scripted answers: JSON-RPC over HTTP and PubSub on one port of the loopback. */
export async function startScriptedNode(): Promise<ScriptedNode> {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const node = new Node(server, sockets, port);
  server.on('request', (request, response) => void node.answer(request, response));
  sockets.on('connection', (socket) => node.accept(socket));
  return node;
}

class Node implements ScriptedNode {
  readonly httpUrl: string;
  readonly wsUrl: string;
  readonly calls: { method: string; params: readonly unknown[] }[] = [];
  readonly subscriptions = new Map<WebSocket, Map<number, { method: string; params: readonly unknown[] }>>();
  connections = 0;
  onCall: ScriptedNode['onCall'] = accountAnswers(new Map());
  onSubscribe: ScriptedNode['onSubscribe'] = null;
  reportsSlots = true;
  slot = 1_000;
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  readonly #timer: NodeJS.Timeout;
  #lastId = 0;

  constructor(server: Server, sockets: WebSocketServer, port: number) {
    this.#server = server;
    this.#sockets = sockets;
    this.httpUrl = `http://127.0.0.1:${port}`;
    this.wsUrl = `ws://127.0.0.1:${port}`;
    this.#timer = setInterval(() => {
      if (!this.reportsSlots) return;
      this.slot++;
      this.notify('slotNotification', 'slotSubscribe', { slot: this.slot, parent: this.slot - 1, root: this.slot - 32 });
    }, 50);
  }

  accept(socket: WebSocket): void {
    this.connections++;
    this.subscriptions.set(socket, new Map());
    socket.on('close', () => this.subscriptions.delete(socket));
    socket.on('error', () => socket.terminate());
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse((data as Buffer).toString()) as { id: number; method: string; params: unknown[] };
      const answer = this.onSubscribe?.(method, params, socket) ?? { result: ++this.#lastId };
      if (answer === 'silence') return;
      if ('result' in answer && typeof answer.result === 'number') this.subscriptions.get(socket)?.set(answer.result, { method, params });
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string; params: unknown[] };
    this.calls.push({ method, params });
    const answer = await this.onCall(method, params);
    if (answer === 'silence') return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }

  send(frame: string | Buffer): void {
    for (const socket of this.subscriptions.keys()) socket.send(frame, { binary: false });
  }

  notify(method: string, subscribeMethod: string, result: unknown, only: (params: readonly unknown[]) => boolean = () => true): void {
    for (const [socket, subscriptions] of this.subscriptions) {
      for (const [subscription, asked] of subscriptions) {
        if (asked.method !== subscribeMethod || !only(asked.params)) continue;
        socket.send(JSON.stringify({ jsonrpc: '2.0', method, params: { result, subscription } }));
      }
    }
  }

  logs(signature: string, logs: readonly string[], { err = null, slot = this.slot }: { err?: unknown; slot?: number } = {}): void {
    this.notify('logsNotification', 'logsSubscribe', { context: { slot }, value: { signature, err, logs } }, (params) => {
      const { mentions } = params[0] as { mentions: string[] };
      return logs.some((line) => line.includes(mentions[0]!));
    });
  }

  account(address: string, owner: string, data: Uint8Array): void {
    const result = { context: { slot: this.slot }, value: accountJson(owner, data) };
    this.notify('accountNotification', 'accountSubscribe', result, (params) => params[0] === address);
  }

  programAccount(program: string, address: string, data: Uint8Array): void {
    const result = { context: { slot: this.slot }, value: { pubkey: address, account: accountJson(program, data) } };
    this.notify('programNotification', 'programSubscribe', result, (params) => params[0] === program);
  }

  cut(): void {
    for (const socket of this.subscriptions.keys()) socket.terminate();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.cut();
    this.#sockets.close();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
