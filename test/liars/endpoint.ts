import { once } from 'node:events';
import { createServer, Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket, WebSocketServer } from 'ws';
import type { Random } from '../simnet/market/random.ts';
import { signatureIn } from '../support/chain/trading-world.ts';
import type { GrpcNode } from '../support/servers/grpc.ts';
import type { Call, HttpLie, Reply } from './lies.ts';
import type { Frame, PubsubLie } from './pubsub-lies.ts';

/** An endpoint in front of the real node: either honest and up to `maxDelayMs` late, or a liar that answers at once. */
export interface Endpoint {
  readonly httpUrl: string;
  readonly wsUrl: string;
  /** The same node by gRPC; null if `SOURCES` does not name it. */
  readonly grpc: GrpcNode | null;
  /** Null: the truth. */
  httpLie: HttpLie | null;
  pubsubLie: PubsubLie | null;
  /** Signatures of the messages that it received with `sendTransaction`. */
  readonly sent: ReadonlySet<string>;
  close(): Promise<void>;
}

/** Bytes that wait for a client that does not read. With more, nothing else is sent to it. */
const maxBuffered = 8 * 1024 * 1024;

export async function startEndpoint(nodePort: number, grpc: GrpcNode | null, maxDelayMs: number, random: Random): Promise<Endpoint> {
  const agent = new Agent({ keepAlive: true });
  const sent = new Set<string>();
  const closing = new AbortController();
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      response.destroy();
      // The client disconnected, or the run ended.
      if (!closing.signal.aborted && !request.destroyed && (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const call = JSON.parse(body.toString()) as Call;
    if (call.method === 'sendTransaction') sent.add(signatureIn(String(call.params[0])));
    const ask = (): Promise<Buffer> => forward(agent, nodePort, body);
    const lie = endpoint.httpLie;
    if (lie === null) await delay(random.below(maxDelayMs + 1));
    const truth = async (): Promise<Record<string, unknown>> => JSON.parse((await ask()).toString()) as Record<string, unknown>;
    const reply: Reply = (await lie?.(call, truth, random)) ?? { body: await ask() };
    if (reply.delayMs !== undefined) await delay(reply.delayMs);
    if (response.destroyed) return;
    if (reply.body === null) {
      request.socket.destroy();
      return;
    }
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' });
    response.end(reply.body);
  }

  const sockets = servePubsub(new WebSocketServer({ server }), nodePort, maxDelayMs, random, () => endpoint.pubsubLie);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const endpoint: Endpoint = {
    httpUrl: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    grpc,
    httpLie: null,
    pubsubLie: null,
    sent,
    async close() {
      closing.abort();
      grpc?.close();
      for (const socket of sockets) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      agent.destroy();
    },
  };
  return endpoint;
}

async function bodyOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function forward(agent: Agent, port: number, body: Buffer): Promise<Buffer> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const outgoing = httpRequest({ host: '127.0.0.1', port, method: 'POST', agent, headers });
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return bodyOf(answer);
}

/** Forwards frames, each not before the previous one. */
function servePubsub(
  clients: WebSocketServer,
  nodePort: number,
  maxDelayMs: number,
  random: Random,
  lieNow: () => PubsubLie | null,
): ReadonlySet<WebSocket> {
  const sockets = new Set<WebSocket>();
  clients.on('connection', (client) => {
    const node = new WebSocket(`ws://127.0.0.1:${nodePort}`);
    const early: string[] = [];
    for (const socket of [client, node]) {
      sockets.add(socket);
      socket.on('error', () => socket.terminate());
      socket.on('close', () => {
        client.terminate();
        node.terminate();
        sockets.delete(socket);
      });
    }
    node.on('open', () => early.splice(0).forEach((text) => node.send(text)));
    client.on('message', (data) => {
      const text = (data as Buffer).toString();
      if (node.readyState === WebSocket.OPEN) node.send(text);
      else early.push(text);
    });
    const send = (text: string): void => {
      if (client.readyState === WebSocket.OPEN && client.bufferedAmount < maxBuffered) client.send(text);
    };
    let lastDueMs = 0;
    node.on('message', (data) => {
      const text = (data as Buffer).toString();
      const lie = lieNow();
      if (lie === null) {
        lastDueMs = Math.max(lastDueMs, performance.now() + random.below(maxDelayMs + 1));
        setTimeout(send, lastDueMs - performance.now(), text);
        return;
      }
      const frame = JSON.parse(text) as Frame;
      if (frame.params?.subscription === undefined) send(text);
      else
        lie(
          frame,
          (said, delayMs = 0) => {
            const saidText = typeof said === 'string' ? said : JSON.stringify(said);
            if (delayMs === 0) send(saidText);
            else setTimeout(send, delayMs, saidText);
          },
          random,
        );
    });
  });
  return sockets;
}
