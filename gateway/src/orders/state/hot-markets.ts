import type { MarketRead } from '../../quote/markets.ts';
import type { PoolReader } from '../../pools/pool-reader.ts';
import { assembleMarket, type AssembledMarket, type MarketPlan } from '../../pools/token-market.ts';
import type { AccountBytes } from '@sluice/shared/venues/quoting.ts';
import type { AccountState } from './accounts/account-view.ts';
import { readUntilAgreed, soleSourceOf } from './accounts/sole-sources.ts';
import type { WatchedAccounts } from './accounts/watched-accounts.ts';

/** Coins whose accounts are followed; the one that was asked for longest ago is let go. */
export const maxHotMarkets = 256;
/** Of these, coins that nobody asked for yet; the oldest is let go. */
export const maxWarmedAhead = 64;
/** Reads of such coins under way at a time; a coin beyond it is not followed before it is asked for. */
const maxWarming = 16;
/** A coin that nobody asks for is no longer followed. */
const idleAfterMs = 10 * 60_000;
const warmedIdleAfterMs = 60_000;
interface HotMarket {
  readonly mint: string;
  plan: MarketPlan;
  /** What is followed for it; empty where its state has to be read. */
  held: readonly string[];
  /** `held` and the settings. */
  all: readonly string[];
  asked: boolean;
  usedAtMs: number;
  assembled: AssembledMarket | null;
  /** What `assembled` was put together from. */
  states: readonly AccountState[];
  reading: Promise<HotMarketRead> | null;
}

export interface HotMarketRead extends MarketRead {
  /** Endpoints, as bits by their number, that alone told some of it; 0 where two told all of it, or there is but one. */
  readonly soleSources: number;
  /** Endpoints that were asked report different states of it, and no two the same; or another one may still, because it is only late. */
  readonly isDisputed: boolean;
}

export interface MarketCounts {
  /** Answered from what is followed. */
  hits: number;
  /** Read because something of it was not followed, or stale. */
  reads: number;
  shared: number;
  evicted: number;
  /** Coins not followed ahead because too many are being read. */
  notWarmed: number;
}

export interface HotMarketsOptions {
  readonly watched: WatchedAccounts;
  /** Its settings are followed all the time. */
  readonly pools: PoolReader;
  /** How many endpoints there are. */
  readonly endpoints: number;
}

/** Markets of coins out of followed accounts; what is not, or no longer, told by any endpoint is read before it is answered. */
export class HotMarkets {
  readonly counts: MarketCounts = { hits: 0, reads: 0, shared: 0, evicted: 0, notWarmed: 0 };
  readonly #options: HotMarketsOptions;
  /** Accounts of all coins that are followed; a quote coin that several share may be missing. */
  readonly #followed = new Set<string>();
  #warming = 0;
  /** The one used longest ago comes first. */
  readonly #markets = new Map<string, HotMarket>();

  constructor(options: HotMarketsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#markets.size;
  }

  /** Whether trades of a hot coin go through this account. */
  follows(address: string): boolean {
    return this.#followed.has(address);
  }

  /** At once where all its accounts are followed. Rejects with an `RpcError`. Throws TypeError where the mint is no address. */
  read(mint: string): HotMarketRead | Promise<HotMarketRead> {
    const market = this.#use(mint);
    const known = this.#current(market);
    if (known !== null) {
      this.counts.hits++;
      return known;
    }
    return this.#readShared(market);
  }

  /** Read anew, until two endpoints tell the same of `slot` or later; as it is read last where they do not within a moment. Rejects with an `RpcError`. */
  readAgreed(mint: string, slot: number): Promise<HotMarketRead> {
    const market = this.#use(mint);
    return readUntilAgreed(() => this.#readFresh(market), slot);
  }

  /** Follows a coin that may soon be asked for. */
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
    // Where it fails the coin is read once it is asked for.
    void this.#readShared(market)
      .catch(() => this.#evict(market))
      .finally(() => this.#warming--);
  }

  /** Lets go what nobody asks for; called now and then. */
  look(): void {
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
    const market: HotMarket = { mint, plan, held: [], all: [], asked, usedAtMs, assembled: null, states: [], reading: null };
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
    if (market.held.length === 0) return null;
    const current = this.#options.watched.current(market.all);
    if (current === null) return null;
    const { states, soleSources } = current;
    if (market.assembled === null || states.some((state, i) => state !== market.states[i])) {
      const byAddress = new Map(market.all.map((address, i) => [address, states[i]!.account] as const));
      market.assembled = assembleMarket(market.plan, (address) => byAddress.get(address) ?? null);
      market.states = states;
    }
    const { assembled } = market;
    // A coin that just left its curve trades in accounts that are not followed yet.
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
        watched.take(addresses, answer);
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
    const before = new Set(market.held);
    const held: string[] = [];
    let isWhole = true;
    for (const address of addresses) {
      if (before.delete(address) || watched.hold(address)) held.push(address);
      else isWhole = false;
    }
    for (const address of before) watched.release(address);
    if (!isWhole) for (const address of held.splice(0)) watched.release(address);
    for (const address of market.held) this.#followed.delete(address);
    for (const address of held) this.#followed.add(address);
    market.held = held;
    market.all = [...market.held, ...pools.settings];
    market.assembled = null;
  }
}

type Pools = Extract<AssembledMarket, { kind: 'market' }>['market']['pools'];

/** A curve needs its own account alone; a pool also what it holds, as far as that exists. The coins themselves always. */
function accountsToFollow(plan: MarketPlan, pools: Pools, found: ReadonlyMap<string, AccountBytes>): readonly string[] {
  const open = pools.find(({ pool }) => !pool.complete)?.pool;
  const of = open?.curve === true ? plan.pools.filter(({ addresses }) => addresses[0] === open.address) : plan.pools;
  const ofPools = of.flatMap(({ addresses }) => addresses.filter((address, i) => i === 0 || found.has(address)));
  const coins = [plan.mint, ...plan.quoteMints.filter((mint) => plan.addresses.includes(mint))];
  return [...new Set([...coins, ...ofPools])];
}
