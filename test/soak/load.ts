import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { createRandom } from '../simnet/market/random.ts';
import type { SoakWorld } from './world.ts';

/** What was done, and what had the wrong result. */
export interface LoadCounts {
  messages: number;
  visits: number;
  reads: number;
  readsFailed: number;
  orders: number;
  ordersFinal: number;
  ordersFailed: number;
}

const steadyStreams = 40;
const visitEveryMs = 150;
const longestVisitMs = 6_000;
const readEveryMs = 60;
const orderEveryMs = 500;
const answerWithinMs = 20_000;
const askAgainMs = 500;
/** The mints that were traded last; requests use one of them. */
const maxMints = 200;
const isOver = new Set(['finalized', 'failed', 'expired']);

/** Uses raw sockets for MessagePack, batches and broken connections. A constant load: streams that stay, streams that come and go, reads over HTTP, orders. */
export class Load {
  readonly counts: LoadCounts = { messages: 0, visits: 0, reads: 0, readsFailed: 0, orders: 0, ordersFinal: 0, ordersFailed: 0 };
  readonly #world: SoakWorld;
  readonly #random = createRandom('soak load');
  readonly #mints = new Set<string>();
  readonly #sockets = new Set<WebSocket>();
  readonly #over = new AbortController();

  constructor(world: SoakWorld) {
    this.#world = world;
  }

  /** Resolves when it has ended; rejects on a fault. */
  async run(): Promise<void> {
    for (let at = 0; at < steadyStreams; at++) this.#follow(at % 4 === 0 ? [{ channel: 'trades' }, { channel: 'newTokens' }] : null, at);
    await Promise.all([
      this.#repeat(visitEveryMs, () => this.#visit()),
      this.#repeat(readEveryMs, () => this.#read()),
      this.#repeat(orderEveryMs, () => this.#trade()),
    ]);
  }

  end(): void {
    this.#over.abort();
    for (const socket of this.#sockets) socket.terminate();
  }

  /** Starts one more each time, whether or not the previous ones have ended. */
  async #repeat(everyMs: number, begin: () => Promise<void>): Promise<void> {
    const { signal } = this.#over;
    const running = new Set<Promise<void>>();
    const faults: unknown[] = [];
    while (!signal.aborted && faults.length === 0) {
      const one = begin()
        .catch((error: unknown) => void (signal.aborted || faults.push(error)))
        .finally(() => running.delete(one));
      running.add(one);
      await delay(everyMs, null, { signal }).catch(() => undefined);
    }
    if (faults.length > 0) throw faults[0];
    await Promise.all(running);
  }

  /** A stream; by default some coins, with prices and candles. */
  #follow(commands: readonly object[] | null, at: number): WebSocket {
    const { hosts, apiKey } = this.#world;
    const query = `format=${at % 3 === 0 ? 'msgpack' : 'json'}${at % 2 === 0 ? '&batch=1' : ''}`;
    const socket = new WebSocket(`ws://${hosts[at % hosts.length]}/api/data?${query}`, { headers: { authorization: `Bearer ${apiKey}` } });
    this.#sockets.add(socket);
    socket.on('open', () => {
      const mints = this.#someMints(10);
      const some =
        mints.length === 0
          ? [{ channel: 'migrations' }]
          : [...['trades', 'prices'].map((channel) => ({ channel, mints })), { channel: 'candles', mints, interval: '1m' }];
      for (const command of commands ?? some) socket.send(JSON.stringify({ op: 'subscribe', ...command }));
    });
    socket.on('message', (data: Buffer, binary) => {
      this.counts.messages++;
      if (!binary && commands !== null) this.#noteMint(data.toString('utf8'));
    });
    // The close that follows shows it.
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    return socket;
  }

  #noteMint(text: string): void {
    const mint = /"type":"trade".{0,2000}?"mint":"(\w+)"/.exec(text)?.[1];
    if (mint === undefined) return;
    this.#mints.delete(mint);
    this.#mints.add(mint);
    for (const oldest of this.#mints) {
      if (this.#mints.size <= maxMints) break;
      this.#mints.delete(oldest);
    }
  }

  async #visit(): Promise<void> {
    const at = this.counts.visits++;
    const socket = this.#follow(null, at);
    await delay(this.#random.below(longestVisitMs));
    if (at % 2 === 0) socket.close();
    else socket.terminate();
  }

  async #read(): Promise<void> {
    const [mint] = this.#someMints(1);
    if (mint === undefined) return;
    const { wallet } = this.#world;
    const paths = [
      `/token/info/${mint}`,
      `/token/trades/${mint}`,
      `/token/candles/${mint}?interval=1m`,
      `/portfolio/${wallet}`,
      '/usage',
      '/status',
      '/livez',
    ];
    const at = this.counts.reads++;
    const answer =
      at % 8 === 7 ? await this.#post('/quote', { mint, side: 'buy', amount: 0.01 }) : await this.#ask(paths[at % paths.length]!);
    if (answer.status >= 400) this.counts.readsFailed++;
  }

  /** Buys, and sells everything again. */
  async #trade(): Promise<void> {
    const [mint] = this.#someMints(1);
    if (mint === undefined) return;
    const bought = await this.#order('/trade/buy', { mint, amount: 0.01, slippage: 50 });
    if (bought === 'finalized') await this.#order('/trade/sell', { mint, amount: '100%', slippage: 50 });
  }

  async #order(path: string, body: object): Promise<string> {
    this.counts.orders++;
    const made = await this.#post(path, { publicKey: this.#world.wallet, ...body });
    const { orderId } = made.body as { readonly orderId?: string };
    const status = orderId === undefined ? 'refused' : await this.#endOf(orderId);
    if (status === 'finalized') this.counts.ordersFinal++;
    else this.counts.ordersFailed++;
    return status;
  }

  async #endOf(orderId: string): Promise<string> {
    for (const endMs = performance.now() + answerWithinMs; ; await delay(askAgainMs)) {
      const { status } = (await this.#ask(`/trade/orders/${orderId}`)).body as { readonly status?: string };
      if (isOver.has(String(status)) || this.#over.signal.aborted || performance.now() > endMs) return String(status);
    }
  }

  #post(path: string, body: object): Promise<{ readonly status: number; readonly body: unknown }> {
    return this.#ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  }

  async #ask(path: string, init: RequestInit = {}): Promise<{ readonly status: number; readonly body: unknown }> {
    const { hosts, apiKey } = this.#world;
    const headers = { ...(init.headers as Record<string, string> | undefined), authorization: `Bearer ${apiKey}` };
    const answer = await fetch(`http://${this.#random.pick(hosts)}${path}`, {
      ...init,
      headers,
      signal: AbortSignal.timeout(answerWithinMs),
    });
    return { status: answer.status, body: await answer.json() };
  }

  #someMints(count: number): string[] {
    const all = [...this.#mints];
    return all.length === 0 ? [] : Array.from({ length: Math.min(count, all.length) }, () => this.#random.pick(all));
  }
}
