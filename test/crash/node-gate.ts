import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';

/** A message that was sent to the node with `sendTransaction`. */
export interface SentMessage {
  readonly signature: string;
  /** The wallet that pays its fee. */
  readonly wallet: string;
  /** Whether it was forwarded to the node. */
  forwarded: boolean;
}

/** Calls about one wallet that are held until `release`, or until the caller is gone. */
export interface Hold {
  /** Resolves when the first of them is held. */
  readonly reached: Promise<void>;
  /** Continues the held calls, and holds no more. */
  release(): void;
}

/** Nodes as gateways see them, each in front of a real one: every call is forwarded, except those that are held. */
export interface NodeGate {
  readonly urls: readonly string[];
  /** Every message that any of them received, in the order of arrival. */
  readonly sent: readonly SentMessage[];
  /**
   * Holds calls of `method` that name `wallet`, at all nodes. `request`: before the node receives them; it never does if the caller is
   * gone. `answer`: the node has executed the call, and its answer is held.
   */
  hold(method: string, wallet: string, at: 'request' | 'answer'): Hold;
  close(): Promise<void>;
}

interface Rule {
  readonly method: string;
  readonly wallet: string;
  readonly at: 'request' | 'answer';
  reach(): void;
  readonly released: Promise<void>;
}

interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

const withTransaction: ReadonlySet<string> = new Set(['sendTransaction', 'simulateTransaction']);

async function bodyOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Signature and payer of the transaction that a call sends; null if it sends none. */
function messageOf({ method, params }: Call): Omit<SentMessage, 'forwarded'> | null {
  if (!withTransaction.has(method)) return null;
  const decoded = decodeTransaction(Buffer.from(String(params[0]), 'base64'));
  if (decoded.kind === 'malformed') throw new Error(`a gateway sent something that is not a transaction: ${decoded.reason}`);
  return { signature: decoded.signatures[0] ?? '', wallet: decoded.accountKeys[0] ?? '' };
}

/** Starts a gate in front of each of the nodes. */
export async function startNodeGate(rpcUrls: readonly string[]): Promise<NodeGate> {
  const sent: SentMessage[] = [];
  const rules = new Set<Rule>();
  const agent = new Agent({ keepAlive: true });

  async function forward(body: Buffer, target: URL): Promise<Buffer> {
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const outgoing = httpRequest({ host: target.hostname, port: target.port, method: 'POST', agent, headers });
    outgoing.end(body);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return await bodyOf(answer);
  }

  /** False: the caller disconnected while the call was held. */
  async function pass(at: Rule['at'], call: Call, wallet: string | null, response: ServerResponse): Promise<boolean> {
    const gone = new Promise<false>((resolve) => response.once('close', () => resolve(false)));
    for (const rule of rules) {
      if (rule.at !== at || rule.method !== call.method) continue;
      if (wallet === null ? !JSON.stringify(call.params).includes(rule.wallet) : wallet !== rule.wallet) continue;
      rule.reach();
      if (!(await Promise.race([gone, rule.released.then(() => true)]))) return false;
    }
    return !response.destroyed;
  }

  async function handle(request: IncomingMessage, response: ServerResponse, target: URL): Promise<void> {
    const body = await bodyOf(request);
    const call = JSON.parse(body.toString()) as Call;
    const message = messageOf(call);
    const record = message !== null && call.method === 'sendTransaction' ? { ...message, forwarded: false } : null;
    if (record !== null) sent.push(record);
    if (!(await pass('request', call, message?.wallet ?? null, response))) return;
    if (record !== null) record.forwarded = true;
    const answer = await forward(body, target);
    if (!(await pass('answer', call, message?.wallet ?? null, response))) return;
    response.setHeader('content-type', 'application/json');
    response.end(answer);
  }

  const closing = { now: false };
  const servers = rpcUrls.map((rpcUrl) => {
    const target = new URL(rpcUrl);
    return createServer((request, response) => {
      handle(request, response, target).catch((error: unknown) => {
        response.destroy();
        // A caller that was killed during its request, or the end of the run.
        if (!closing.now && !request.destroyed) throw error;
      });
    });
  });
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  return {
    urls: servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    sent,
    hold(method, wallet, at) {
      let [reach, release] = [(): void => undefined, (): void => undefined];
      const reached = new Promise<void>((resolve) => (reach = resolve));
      const released = new Promise<void>((resolve) => (release = resolve));
      const rule: Rule = { method, wallet, at, reach, released };
      rules.add(rule);
      return {
        reached,
        release: () => {
          rules.delete(rule);
          release();
        },
      };
    },
    async close() {
      closing.now = true;
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      }
      agent.destroy();
    },
  };
}
