import { setTimeout as delay } from 'node:timers/promises';
import { curvePrice } from '../support/chain/curve-price.ts';
import { launchCoin, tokensOf, tradeOnChain, trader, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { TriggerClient, type TriggerBody, type TriggerView } from '../support/clients/trigger-client.ts';
import type { Random } from '../simnet/market/random.ts';
import { ghost } from './pubsub-lies.ts';
import type { Judge, PublishedOrder } from './truth.ts';
import type { LiarsWorld } from './world.ts';

export interface ArmedCounts {
  /** Triggers that true trades fired, and triggers that only lies could fire. */
  fired: number;
  baits: number;
  /** Longest time from a true trade to the last order that it fired, milliseconds. */
  longestFiringMs: number;
}

/** A trigger, what it waits for in words, and whether a true trade fires it. */
interface Armed {
  readonly what: string;
  readonly triggerId: string;
  readonly isBait: boolean;
}

const firstLamports = 2_000_000_000n;
const moveLamports = 4_000_000_000n;
/** Prices between which the truth stays. The lies are a hundredth and a hundred times the truth. */
const [reached, falselyHigh, falselyLow] = [1.1, 5, 0.2];
const buySol = 0.01;
const minDepthSol = 0.1;
const quietMs = 1_200;
const smallEveryMs = 250;
const smallLamports = 5_000_000n;
const askEveryMs = 200;
/** While so many other orders are accepted, those of triggers have to be, too. */
const usualOrders = 3;
const patience = { retries: 50, retryForMs: 600_000, slippage: 45 } as const;

/** Triggers among liars: in each round some that a true trade fires, and some that only a lie could fire. The latter stay armed to the end. */
export class ArmedTriggers {
  readonly counts: ArmedCounts = { fired: 0, baits: 0, longestFiringMs: 0 };
  readonly #world: LiarsWorld;
  readonly #judge: Judge;
  readonly #random: Random;
  readonly #client: TriggerClient;
  readonly #withinMs: number;
  readonly #otherOrders: () => number;
  readonly #armed: Armed[] = [];
  readonly #over = new AbortController();
  #resolveArmed: () => void = () => undefined;
  /** Resolves when the triggers of the first round are armed. */
  readonly areArmed = new Promise<void>((resolve) => (this.#resolveArmed = resolve));

  /**
   * `withinMs`: how long after a true trade its orders may come, while an endpoint lies. `otherOrders`: orders that were accepted so far; on a
   * busy machine the nodes often confirm no order in time.
   */
  constructor(world: LiarsWorld, judge: Judge, random: Random, withinMs: number, otherOrders: () => number) {
    [this.#world, this.#judge, this.#random, this.#withinMs, this.#otherOrders] = [world, judge, random, withinMs, otherOrders];
    this.#client = new TriggerClient({ apiKey: world.triggerKey, urls: () => [`http://${world.host}`] });
  }

  async run(): Promise<void> {
    while (!this.#over.signal.aborted) await this.#round();
  }

  end(): void {
    this.#over.abort();
  }

  /** After the last lie: what is still armed although it had to fire, what fired although it must not, and all orders. */
  async judged(withinMs: number): Promise<readonly PublishedOrder[]> {
    const views = await this.#ended(this.#armed, withinMs);
    let fired = 0;
    for (const { what, triggerId, isBait } of this.#armed) {
      const view = views.get(triggerId);
      const seen = JSON.stringify(view);
      if (view === undefined) this.#judge.fault(`a trigger is not listed: ${what}`);
      else if (isBait && (view.status !== 'armed' || view.orderId !== null))
        this.#judge.fault(`a lie fired the trigger on ${what}: ${seen}`);
      else if (view.status === 'fired') fired++;
      // One of two endpoints can delay a trade until no purchase should follow it any more. Its trigger says so.
      else if (!isBait && (view.waitingFor !== 'late_trade' || this.#world.endpoints.length > 2))
        this.#judge.fault(`the trigger on ${what} did not fire: ${seen}`);
    }
    const all: PublishedOrder[] = [];
    for (let before = ''; ;) {
      const page = await this.#client.read(`/trade/orders?limit=200${before}`);
      const { orders, next } = page as { readonly orders: readonly PublishedOrder[]; readonly next: string | null };
      all.push(...orders);
      if (next === null) break;
      before = `&before=${next}`;
    }
    const landed = all.filter(({ status }) => status === 'finalized' || status === 'confirmed').length;
    if (landed !== fired) this.#judge.fault(`${landed} orders of triggers landed, and ${fired} triggers fired`);
    return all;
  }

  async #round(): Promise<void> {
    const { chain, armedWallets } = this.#world;
    const coin = launchCoin(chain);
    this.#trade(coin, firstLamports);
    await this.#small(coin, quietMs);
    const price = curvePrice(chain, coin.mint);
    const at = (metric: string, op: '>=' | '<=', value: number): TriggerBody => ({ metric, op, value });
    const follows = (account: string, minSol: number): TriggerBody => ({ account, side: 'buy', minSol });
    const [level, follower, bait] = armedWallets as [string, string, string];
    const round: Armed[] = [];
    const arm = async (what: string, publicKey: string, isBait: boolean, when: TriggerBody, more: TriggerBody = {}): Promise<void> => {
      const body = { publicKey, mint: coin.mint, side: 'buy', amount: buySol, minDepthSol, ...patience, when, ...more };
      const { triggerId } = await this.#client.arm(body);
      round.push({ what: `${what} of ${coin.mint}`, triggerId, isBait });
    };
    await Promise.all([
      arm('a true price', level, false, at('priceSol', '>=', price * reached)),
      arm('a true and confirmed price', level, false, at('priceSol', '>=', price * reached), { confirm: 'confirmed' }),
      arm('a true trade', follower, false, follows(trader.publicKey, 1)),
      arm('a false price', bait, true, at('priceSol', '>=', price * falselyHigh)),
      arm('a false price below', bait, true, at('priceSol', '<=', price * falselyLow)),
      arm('a false market cap, confirmed', bait, true, at('marketCapSol', '>=', price * falselyHigh * 1e9), { confirm: 'confirmed' }),
      arm('a trade that never happened', bait, true, follows(ghost, 0.001)),
    ]);
    this.#armed.push(...round);
    this.#resolveArmed();
    this.counts.baits += round.filter(({ isBait }) => isBait).length;
    await this.#small(coin, this.#random.below(quietMs));
    const [beganMs, otherOrders] = [performance.now(), this.#otherOrders()];
    this.#trade(coin, moveLamports);
    // One lying endpoint of three delays nothing for long. One of two may: then the triggers fire when it has stopped.
    const isOutvoted = this.#world.endpoints.length > 2;
    const due = round.filter(({ isBait }) => !isBait);
    const views = await this.#ended(due, isOutvoted ? this.#withinMs : 0);
    for (const { what, triggerId } of due) {
      const view = views.get(triggerId);
      if (view?.status === 'fired') this.counts.fired++;
      else if (isOutvoted && this.#otherOrders() > otherOrders + usualOrders)
        this.#judge.fault(`the trigger on ${what} has not fired: ${JSON.stringify(view)}`);
    }
    this.counts.longestFiringMs = Math.max(this.counts.longestFiringMs, Math.round(performance.now() - beganMs));
  }

  #trade(coin: QuotedCoin, amount: bigint): void {
    const { err, logs } = tradeOnChain(this.#world.chain, coin, 'pump', { exact: 'quoteIn', amount }, 1n);
    if (err !== null) throw new Error(logs.join('\n'));
  }

  /** Trades that move the price by a thousandth, so that there is something to lie about. */
  async #small(coin: QuotedCoin, forMs: number): Promise<void> {
    const { chain } = this.#world;
    const endMs = performance.now() + forMs;
    for (let at = 0; performance.now() < endMs && !this.#over.signal.aborted; at++) {
      if (at % 2 === 0) this.#trade(coin, smallLamports);
      else tradeOnChain(chain, coin, 'pump', { exact: 'baseIn', amount: tokensOf(chain, coin) / 1_000n }, 0n);
      await delay(smallEveryMs);
    }
  }

  /** All triggers, once those that had to fire have ended, or after `withinMs`. */
  async #ended(those: readonly Armed[], withinMs: number): Promise<ReadonlyMap<string, TriggerView>> {
    const isOpen = (view: TriggerView | undefined): boolean => view?.status === 'armed' || view?.status === 'firing';
    for (const endMs = performance.now() + withinMs; ; await delay(askEveryMs)) {
      const views = new Map((await this.#client.list()).map((view) => [view.triggerId, view]));
      if (!those.some(({ isBait, triggerId }) => !isBait && isOpen(views.get(triggerId))) || performance.now() > endMs) return views;
    }
  }
}
