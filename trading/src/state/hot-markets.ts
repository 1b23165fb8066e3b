import type { LookedUpAccount } from '@sluice/venues/quoting.ts';
import type { MarketRead } from '../quote/markets.ts';
import type { PoolReader } from '@sluice/gateway/reads/pools/pool-reader.ts';
import { assembleMarket, type AssembledMarket, type MarketPlan } from '@sluice/gateway/reads/pools/quoted-market.ts';
import type { AccountState } from './accounts/account-view.ts';
import { readUntilAgreed, soleSourceOf } from './accounts/sole-sources.ts';
import type { WatchedAccounts } from './accounts/watched-accounts.ts';

/** Most coins whose accounts are followed. Beyond that the least recently requested one is dropped. */
export const maxHotMarkets = 256;
/** Most of these that were not requested yet. Beyond that the oldest one is dropped. */
export const maxWarmedAhead = 64;
/** Most reads of such coins at a time. Further coins are not followed until they are requested. */
const maxWarming = 16;
/** A coin is dropped after this long without a request. */
const idleAfterMs = 10 * 60_000;
const warmedIdleAfterMs = 60_000;

interface HotMarket {
  readonly mint: string;
  plan: MarketPlan;
  /** The accounts that are followed for it. Empty if not all of them can be followed; then each request reads them. */
  followed: readonly string[];
  /** `followed` and the settings accounts of the venues. */
  all: readonly string[];
  /** It was requested, and not only warmed. */
  asked: boolean;
  usedAtMs: number;
  assembled: AssembledMarket | null;
  /** The account states behind `assembled`. */
  states: readonly AccountState[];
  reading: Promise<HotMarketRead> | null;
}

export interface HotMarketRead extends MarketRead {
  /** Bit mask of endpoints that alone reported a part of it. 0 if two reported all of it, or only one is configured. */
  readonly soleSources: number;
  /** Endpoints that were asked report different states of it, and no two the same; or another one may still, because it is only late. */
  readonly isDisputed: boolean;
}

export interface MarketCounts {
  /** Answered from followed accounts. */
  hits: number;
  /** Read because an account was stale or not followed. */
  reads: number;
  shared: number;
  evicted: number;
  /** Coins not warmed because too many were being read. */
  notWarmed: number;
}

export interface HotMarketsOptions {
  readonly watched: WatchedAccounts;
  /** Its settings accounts are always followed. */
  readonly pools: PoolReader;
  /** Number of endpoints. */
  readonly endpoints: number;
}

/** Markets of coins, assembled from followed accounts. If an account is not followed, or its state is uncertain, the market is read first. */
export class HotMarkets {
  readonly counts: MarketCounts = { hits: 0, reads: 0, shared: 0, evicted: 0, notWarmed: 0 };
  readonly #options: HotMarketsOptions;
  /** Followed accounts of all coins. A quote coin that several coins share may be missing. */
  readonly #followed = new Set<string>();
  #warming = 0;
  /** Least recently used first. */
  readonly #markets = new Map<string, HotMarket>();

  constructor(options: HotMarketsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#markets.size;
  }

  /** Whether it is a followed account of a coin, so that all trades of that coin may write to it. */
  follows(address: string): boolean {
    return this.#followed.has(address);
  }

  /** Returns at once if all accounts are followed. Rejects with an `RpcError`. Throws TypeError if the mint is no address. */
  read(mint: string): HotMarketRead | Promise<HotMarketRead> {
    const market = this.#use(mint);
    const known = this.#current(market);
    if (known !== null) {
      this.counts.hits++;
      return known;
    }
    return this.#readShared(market);
  }

  /**
   * Reads the market until two endpoints report the same state of `slot` or a later one. After 500 ms it returns the last state that was read.
   * Rejects with an `RpcError`.
   */
  readAgreed(mint: string, slot: number): Promise<HotMarketRead> {
    const market = this.#use(mint);
    return readUntilAgreed(() => this.#readFresh(market), slot);
  }

  /** Follows a coin that may soon be requested. */
  warm(mint: string): void {
    if (this.#markets.has(mint)) return;
    if (this.#warming >= maxWarming) {
      this.counts.notWarmed++;
      return;
    }
    let ahead = 0;
    let oldest: HotMarket | null = null;
    for (const market of this.#markets.values()) {
      if (market.asked) continue;
      ahead++;
      oldest ??= market;
    }
    if (ahead >= maxWarmedAhead && oldest !== null) this.#evict(oldest);
    const market = this.#add(mint, false);
    this.#warming++;
    // If the read fails, the coin is read when it is requested.
    void this.#readShared(market)
      .catch(() => this.#evict(market))
      .finally(() => this.#warming--);
  }

  /** Drops coins that nobody requests. Call it every few seconds. */
  check(): void {
    const nowMs = performance.now();
    for (const market of this.#markets.values()) {
      if (nowMs - market.usedAtMs > (market.asked ? idleAfterMs : warmedIdleAfterMs)) this.#evict(market);
    }
  }

  #use(mint: string): HotMarket {
    const known = this.#markets.get(mint);
    if (known === undefined) return this.#add(mint, true);
    known.asked = true;
    known.usedAtMs = performance.now();
    this.#markets.delete(mint);
    this.#markets.set(mint, known);
    return known;
  }

  #add(mint: string, asked: boolean): HotMarket {
    const plan = this.#options.pools.planOf(mint);
    const usedAtMs = performance.now();
    const market: HotMarket = { mint, plan, followed: [], all: [], asked, usedAtMs, assembled: null, states: [], reading: null };
    this.#markets.set(mint, market);
    if (this.#markets.size > maxHotMarkets) {
      const oldest = this.#markets.values().next();
      if (oldest.done !== true) this.#evict(oldest.value);
    }
    return market;
  }

  #evict(market: HotMarket): void {
    if (!this.#markets.delete(market.mint)) return;
    this.counts.evicted++;
    this.#follow(market, []);
  }

  #current(market: HotMarket): HotMarketRead | null {
    if (market.followed.length === 0) return null;
    const current = this.#options.watched.current(market.all);
    if (current === null) return null;
    const { states, soleSources } = current;
    if (market.assembled === null || states.some((state, i) => state !== market.states[i])) {
      const byAddress = new Map(market.all.map((address, i) => [address, states[i]!.account] as const));
      market.assembled = assembleMarket(market.plan, (address) => byAddress.get(address) ?? null);
      market.states = states;
    }
    const { assembled } = market;
    // The coin has left its curve: its new pool is not followed yet.
    if (assembled.kind !== 'market' || assembled.market.pools.every(({ pool }) => pool.complete)) return null;
    const asOf = { slot: current.slot, askedAtMs: current.asOfMs };
    return { result: assembled, settings: asOf, soleSources, isDisputed: false, ...asOf };
  }

  #readShared(market: HotMarket): Promise<HotMarketRead> {
    if (market.reading !== null) {
      this.counts.shared++;
      return market.reading;
    }
    const started = this.#readFresh(market).finally(() => (market.reading = null));
    market.reading = started;
    return started;
  }

  async #readFresh(market: HotMarket): Promise<HotMarketRead> {
    const { pools, endpoints, watched } = this.#options;
    const { plan, read, result, accounts } = await pools.readMarket(market.mint, {
      settings: null,
      onRead: (addresses, answer) => {
        this.counts.reads++;
        watched.addRead(addresses, answer);
      },
    });
    market.plan = plan;
    if (this.#markets.get(market.mint) === market) {
      const found = result.kind === 'market' ? result.market.pools : [];
      this.#follow(market, found.length === 0 ? [] : accountsToFollow(plan, found, accounts));
    }
    const asOf = { slot: read.slot, askedAtMs: read.askedAtMs };
    const isDisputed = read.disputed.length > 0 || read.othersAreLate;
    return { result, settings: asOf, soleSources: soleSourceOf(read, endpoints), isDisputed, ...asOf };
  }

  #follow(market: HotMarket, addresses: readonly string[]): void {
    const { watched, pools } = this.#options;
    const before = new Set(market.followed);
    const followed: string[] = [];
    let isWhole = true;
    for (const address of addresses) {
      if (before.delete(address) || watched.follow(address)) followed.push(address);
      else isWhole = false;
    }
    for (const address of before) watched.release(address);
    if (!isWhole) for (const address of followed.splice(0)) watched.release(address);
    for (const address of market.followed) this.#followed.delete(address);
    for (const address of followed) this.#followed.add(address);
    market.followed = followed;
    market.all = [...market.followed, ...pools.settings];
    market.assembled = null;
  }
}

type Pools = Extract<AssembledMarket, { kind: 'market' }>['market']['pools'];

/** A curve needs only its own account. A pool also needs its other accounts that exist. Mints are always followed. */
function accountsToFollow(plan: MarketPlan, pools: Pools, found: ReadonlyMap<string, LookedUpAccount>): readonly string[] {
  const open = pools.find(({ pool }) => !pool.complete)?.pool;
  const of = open?.curve === true ? plan.pools.filter(({ addresses }) => addresses[0] === open.address) : plan.pools;
  const ofPools = of.flatMap(({ addresses }) => addresses.filter((address, i) => i === 0 || found.has(address)));
  const coins = [plan.mint, ...plan.quoteMints.filter((mint) => plan.addresses.includes(mint))];
  return [...new Set([...coins, ...ofPools])];
}
