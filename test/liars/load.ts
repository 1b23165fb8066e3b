import { setTimeout as delay } from 'node:timers/promises';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { tokensOf, tradeOnChain, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import type { Judge, PublishedOrder } from './truth.ts';
import type { LiarsWorld } from './world.ts';

interface Refused {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What was done, and how long answers took. */
export interface LoadCounts {
  orders: number;
  ended: Record<string, number>;
  refused: Record<string, number>;
  reads: number;
  frames: number;
  /** Trades that a subscriber received once they were confirmed. */
  confirmed: number;
  longestMs: number;
}

const streams = 4;
const readEveryMs = 150;
const othersEveryMs = 300;
const askAgainMs = 250;
const slippage = 5;
const sol = 0.05;
/** An order that is still uncertain after this time is not waited for. Its end is judged all the same. */
const patienceMs = 20_000;
const answerWithinMs = 30_000;
const isOver = new Set(['finalized', 'failed', 'expired']);
const isConfirmed = new Set(['confirmed', 'finalized']);

/** Orders, streams and reads, all the time. Every answer goes to the judge. */
export class Load {
  readonly counts: LoadCounts = { orders: 0, ended: {}, refused: {}, reads: 0, frames: 0, confirmed: 0, longestMs: 0 };
  readonly #world: LiarsWorld;
  readonly #judge: Judge;
  readonly #maxAnswerMs: number;
  readonly #over = new AbortController();
  readonly #streams: StreamClient[] = [];
  readonly #stalls: Stalls;

  constructor(world: LiarsWorld, judge: Judge, maxAnswerMs: number) {
    [this.#world, this.#judge, this.#maxAnswerMs] = [world, judge, maxAnswerMs];
    this.#stalls = new Stalls(() => world.stalledMs());
  }

  async run(): Promise<void> {
    await this.#follow({ channel: 'orders' }, (data) => {
      if (data['orderId'] !== undefined) this.#judge.checkOrder(data as unknown as PublishedOrder);
    });
    await this.#follow({ channel: 'trades', commitment: 'confirmed' }, (data) => {
      if (data['type'] !== 'trade') return;
      this.counts.confirmed++;
      this.#judge.traded(data as unknown as TradeEvent);
    });
    for (let at = 2; at < streams; at++) await this.#follow({ channel: 'trades' }, () => undefined);
    const { coins, wallets } = this.#world;
    await Promise.all([
      this.#marketMoves(),
      this.#repeat(readEveryMs, (at) => this.#read(at)),
      ...wallets.map((publicKey, at) => this.#trade(publicKey, coins[at]!)),
    ]);
  }

  end(): void {
    this.#over.abort();
  }

  close(): void {
    this.#stalls.close();
    for (const stream of this.#streams) stream.close();
  }

  /** Waits for the ends of all orders. */
  async stored(withinMs: number): Promise<readonly PublishedOrder[]> {
    for (const endMs = performance.now() + withinMs; ; await delay(askAgainMs)) {
      const all = await this.#allOrders();
      if (all.every(({ status }) => isOver.has(status))) return all;
      if (performance.now() < endMs) continue;
      for (const { orderId, status } of all) if (!isOver.has(status)) this.#judge.fault(`${orderId} does not end: ${status}`);
      return all;
    }
  }

  async #allOrders(): Promise<readonly PublishedOrder[]> {
    const all: PublishedOrder[] = [];
    for (let before = ''; ;) {
      const { body } = await this.ask(`/trade/orders?limit=200${before}`);
      const { orders, next } = body as { readonly orders: readonly PublishedOrder[]; readonly next: string | null };
      all.push(...orders);
      if (next === null) return all;
      before = `&before=${next}`;
    }
  }

  async #follow(subscription: object, take: (data: Readonly<Record<string, unknown>>) => void): Promise<void> {
    const { host, apiKey } = this.#world;
    const stream = await new StreamClient(`ws://${host}/api/data`, { authorization: `Bearer ${apiKey}` }).open();
    this.#streams.push(stream);
    await stream.ask({ op: 'subscribe', ...subscription });
    stream.socket.on('message', () => {
      for (const { data } of stream.messages.splice(0)) {
        if (data === undefined) continue;
        this.counts.frames++;
        take(data);
      }
    });
    stream.socket.on('close', (code) => {
      if (!this.#over.signal.aborted) this.#judge.fault(`a stream was closed: ${code}`);
    });
  }

  async #repeat(everyMs: number, once: (at: number) => Promise<void>): Promise<void> {
    const { signal } = this.#over;
    for (let at = 0; !signal.aborted; at++) {
      await once(at);
      await delay(everyMs, null, { signal }).catch(() => undefined);
    }
  }

  /** Others trade, so that there are updates to lie about: the price moves by about a thousandth. */
  async #marketMoves(): Promise<void> {
    const { chain, coins } = this.#world;
    await this.#repeat(othersEveryMs, async (at) => {
      const coin = coins[at % coins.length]!;
      const held = tokensOf(chain, coin);
      if (held > 1_000_000_000_000n && at % 2 === 1) tradeOnChain(chain, coin, 'pump', { exact: 'baseIn', amount: held / 2n }, 0n);
      else tradeOnChain(chain, coin, 'pump', { exact: 'quoteIn', amount: 20_000_000n }, 0n);
    });
  }

  async #read(at: number): Promise<void> {
    const { coins, wallets } = this.#world;
    const { mint } = coins[at % coins.length]!;
    this.counts.reads++;
    const paths = [
      `/token/info/${mint}`,
      `/token/trades/${mint}`,
      `/token/candles/${mint}?interval=1m`,
      `/portfolio/${wallets[0]}`,
      '/status',
    ];
    if (at % 3 !== 0) return void (await this.ask(paths[at % paths.length]!));
    const beganAtMs = performance.now();
    const { status, body } = await this.ask('/quote', { mint, side: 'buy', amount: sol, slippage });
    if (status === 200)
      this.#judge.quoted({ side: 'buy', mint, ...(body as { readonly quote: QuoteObject }) }, slippage, beganAtMs, '/quote');
  }

  /** Buys, and sells everything again. */
  async #trade(publicKey: string, coin: QuotedCoin): Promise<void> {
    const { mint } = coin;
    await this.#repeat(askAgainMs, async () => {
      if ((await this.#order('/trade/buy', { publicKey, mint, amount: sol, slippage })) === 'confirmed')
        await this.#order('/trade/sell', { publicKey, mint, amount: '100%', slippage });
    });
  }

  async #order(path: string, body: { readonly slippage: number; readonly [field: string]: unknown }): Promise<string> {
    const beganAtMs = performance.now();
    const answer = await this.ask(path, body);
    if (answer.status !== 200) {
      const { code, message, details } = (answer.body as { readonly error: Refused }).error;
      const reason = code === 'UPSTREAM_UNAVAILABLE' ? code : `${code} (${path}): ${message} ${JSON.stringify(details)}`;
      const counted = details['orderId'] === undefined ? reason : `${code} with an order`;
      this.counts.refused[counted] = (this.counts.refused[counted] ?? 0) + 1;
      return 'refused';
    }
    this.counts.orders++;
    const taken = answer.body as TradeAnswer;
    this.#judge.answered(taken, body, beganAtMs);
    const status = await this.#endOf(taken.orderId!);
    this.counts.ended[status] = (this.counts.ended[status] ?? 0) + 1;
    return status;
  }

  /** Until it has settled, or can no longer land. */
  async #endOf(orderId: string): Promise<string> {
    for (const endMs = performance.now() + patienceMs; ; await delay(askAgainMs)) {
      const { status, body } = await this.ask(`/trade/orders/${orderId}`);
      const order = body as PublishedOrder;
      if (status === 200) this.#judge.checkOrder(order);
      if (status === 200 && isConfirmed.has(order.status)) return 'confirmed';
      if (status === 200 && isOver.has(order.status)) return order.status;
      if (performance.now() > endMs || this.#over.signal.aborted) return 'open';
    }
  }

  async ask(path: string, body?: object): Promise<{ readonly status: number; readonly body: unknown }> {
    const { host, apiKey } = this.#world;
    const beganAtMs = performance.now();
    const response = await fetch(`http://${host}${path}`, {
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(answerWithinMs),
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    const endedAtMs = performance.now();
    // A machine that is busy with something else is not a fault of the product.
    const tookMs = Math.max(0, endedAtMs - beganAtMs - this.#stalls.between(beganAtMs, endedAtMs));
    this.counts.longestMs = Math.max(this.counts.longestMs, tookMs);
    if (tookMs > this.#maxAnswerMs) {
      // The product's own timing shows which step was slow.
      const { timing } = answer as { readonly timing?: object };
      const steps = timing === undefined ? '' : `, ${JSON.stringify(timing)}`;
      this.#judge.fault(`${path.replace(/[?].*/, '')} was answered (${response.status}) after ${Math.round(tookMs)} ms${steps}`);
    }
    return { status: response.status, body: answer };
  }
}

/** When something paused. */
class Pauses {
  static readonly #retainedMs = 60_000;
  readonly #leastMs = 10;
  #pauses: { readonly endMs: number; readonly ms: number }[] = [];

  add(endMs: number, ms: number): void {
    if (ms < this.#leastMs) return;
    if (this.#pauses[0] !== undefined && this.#pauses[0].endMs < endMs - 2 * Pauses.#retainedMs)
      this.#pauses = this.#pauses.filter((one) => one.endMs > endMs - Pauses.#retainedMs);
    this.#pauses.push({ endMs, ms });
  }

  between(fromMs: number, toMs: number): number {
    return this.#pauses.reduce((sum, { endMs, ms }) => (endMs > fromMs && endMs - ms < toMs ? sum + ms : sum), 0);
  }
}

/** How long a busy machine delays answers: this process itself pauses, or the product waits for a core. */
class Stalls {
  readonly #everyMs = 20;
  readonly #stalledMs: () => number;
  readonly #pauses = new Pauses();
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();
  #lastStalledMs: number;

  constructor(stalledMs: () => number) {
    this.#stalledMs = stalledMs;
    this.#lastStalledMs = stalledMs();
    this.#timer = setInterval(() => this.#look(), this.#everyMs);
  }

  /** A request passes through both processes, so the pauses of both count. */
  between(fromMs: number, toMs: number): number {
    // After a pause, an answer may be read before the timer is called.
    this.#look();
    return this.#pauses.between(fromMs, toMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const [nowMs, stalledMs] = [performance.now(), this.#stalledMs()];
    this.#pauses.add(nowMs, nowMs - this.#lastMs - this.#everyMs);
    this.#pauses.add(nowMs, stalledMs - this.#lastStalledMs);
    [this.#lastMs, this.#lastStalledMs] = [nowMs, stalledMs];
  }
}
