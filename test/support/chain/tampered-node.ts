import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface NodeCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What a node does with a call: the correct answer, another `result`, no answer, or a cut connection. */
export type Tampering = (call: NodeCall, answer: () => Promise<unknown>) => Promise<unknown>;
export const silent: unique symbol = Symbol('no answer');
export const cut: unique symbol = Symbol('cut');

/** A JSON-RPC error as the answer. */
export class NodeFault {
  readonly code: number;
  readonly message: string;

  constructor(code: number, message: string) {
    [this.code, this.message] = [code, message];
  }
}

/** A node in front of an honest one that lies, is silent, or fails, as the test decides. */
export interface TamperedNode {
  readonly url: string;
  readonly calls: readonly NodeCall[];
  /** Null: answers correctly. */
  tampering: Tampering | null;
  count(method: string): number;
  close(): Promise<void>;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

interface Answered {
  readonly result?: unknown;
}

export async function startTamperedNode(rpcUrl: string): Promise<TamperedNode> {
  const calls: NodeCall[] = [];
  const closing = new AbortController();
  // One for each running call.
  setMaxListeners(0, closing.signal);

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const { id, method, params } = JSON.parse(body) as NodeCall & { readonly id: number };
    calls.push({ method, params });
    let received: Answered | null = null;
    const truth = async (): Promise<unknown> => {
      const headers = { 'content-type': 'application/json' };
      const answered = await fetch(rpcUrl, { method: 'POST', headers, body, signal: closing.signal });
      received = (await answered.json()) as Answered;
      return received.result;
    };
    const result = await (node.tampering ?? ((_call, answer) => answer()))({ method, params }, truth);
    if (result === silent) return;
    if (result === cut) {
      request.socket.destroy();
      return;
    }
    const whole = received as Answered | null;
    response.setHeader('content-type', 'application/json');
    if (result instanceof NodeFault) {
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: result.code, message: result.message } }));
      return;
    }
    response.end(JSON.stringify(whole !== null && result === whole.result ? whole : { jsonrpc: '2.0', id, result }));
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      request.socket.destroy();
      // The node behind it may have ended too.
      if (!closing.signal.aborted) throw error;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const node: TamperedNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    tampering: null,
    count: (method) => calls.filter((call) => call.method === method).length,
    async close() {
      closing.abort();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return node;
}
