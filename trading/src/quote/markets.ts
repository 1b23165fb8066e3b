import { metricsOf, type Metric } from '@sluice/shared/operations/metric.ts';
import type { LookedUpAccount } from '@sluice/venues/seam/quoting.ts';
import type { AccountsRead, ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import type { DecidedMarket, PoolReader, SettingsRead } from '@sluice/gateway/reads/pools/pool-reader.ts';
import { assembleMarket, type AssembledMarket, type MarketPlan } from '@sluice/gateway/reads/pools/quoted-market.ts';
import { isDisputed, readUntilAgreed, soleSourceOf } from './sole-sources.ts';

/** A market that was read is used for this long after it was requested: about two slots. */
export const marketTtlMs = 400;
/** Likewise for the settings and fee tables of the programs. */
export const settingsTtlMs = 30_000;
/** Most markets in memory if no accounts are followed, 5 KB each. That many can be read within `marketTtlMs`. Beyond that the oldest is dropped. */
export const maxMarkets = 1_024;
/** Most coins whose accounts are followed. Beyond that the least recently requested one is dropped. */
export const maxHotMarkets = 256;
/** Most of these that were not requested yet. Beyond that the oldest one is dropped. */
export const maxWarmedAhead = 64;
/** Most reads of such coins at a time. Further coins are not followed until they are requested. */
const maxWarming = 16;
/** A coin is dropped after this long without a request. */
const idleAfterMs = 10 * 60_000;
const warmedIdleAfterMs = 60_000;

interface AsOf {
  readonly slot: number;
  readonly askedAtMs: number;
}

/** The pools of a coin at one moment, for exact quotes. */
export interface MarketRead extends AsOf {
  readonly result: DecidedMarket;
  readonly settings: AsOf;
  /** Bit mask of endpoints that alone reported a part of it. 0 if two reported all of it, or only one is configured. */
  readonly soleSources: number;
  /** The market as other endpoints report it, if they report another state and no two report the same. */
  readonly disputed: readonly (Pick<AsOf, 'slot'> & { readonly result: DecidedMarket })[];
  /** One endpoint alone reports it, and another one that may contradict it has not answered in time. */
  readonly othersAreLate: boolean;
  /** One of both: endpoints contradict each other, or one may still do so. */
  readonly isDisputed: boolean;
}

/** The state of an account while it is followed. A change makes another object. */
interface FollowedState {
  readonly account: ChainAccount | null;
}

/** Accounts that the endpoints report without a break. */
export interface FollowedAccounts {
  /** False if too many are followed. */
  follow(address: string): boolean;
  release(address: string): void;
  /** Null if the state of one of them is uncertain. */
  current(
    addresses: readonly string[],
  ): { readonly slot: number; readonly asOfMs: number; readonly soleSources: number; readonly states: readonly FollowedState[] } | null;
  addRead(addresses: readonly string[], read: AccountsRead): void;
}

interface HeldMarket {
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
  states: readonly FollowedState[];
  last: MarketRead | null;
  reading: Promise<MarketRead> | null;
}

export interface MarketCounts {
  /** Answered without a read. */
  hits: number;
  reads: number;
  /** Requests for a market that was being read already. */
  shared: number;
  /** Markets, or derived pools of a market, whose accounts could not be understood. */
  malformed: number;
  evicted: number;
  /** Coins not warmed because too many were being read. */
  notWarmed: number;
}

export interface MarketsOptions {
  readonly pools: PoolReader;
  /** Number of endpoints; one by default. */
  readonly endpoints?: number;
  /** Markets are assembled from these. Without them, a market that was read is used again for `marketTtlMs`. The settings accounts must be followed. */
  readonly accounts?: FollowedAccounts;
  readonly nowMs?: () => number;
}

/** The markets of coins, for quotes and orders: what the accounts of their pools say, from followed accounts or by a read of the endpoints. */
export class Markets {
  readonly counts: MarketCounts = { hits: 0, reads: 0, shared: 0, malformed: 0, evicted: 0, notWarmed: 0 };
  readonly #pools: PoolReader;
  readonly #endpoints: number;
  readonly #accounts: FollowedAccounts | null;
  readonly #nowMs: () => number;
  /** Followed accounts of all coins. A quote coin that several coins share may be missing. */
  readonly #followed = new Set<string>();
  #warming = 0;
  /** Least recently used first. */
  readonly #markets = new Map<string, HeldMarket>();
  /** For markets that are read without followed accounts. */
  #settings: SettingsRead | null = null;

  constructor({ pools, endpoints = 1, accounts, nowMs = () => performance.now() }: MarketsOptions) {
    this.#pools = pools;
    this.#endpoints = endpoints;
    this.#accounts = accounts ?? null;
    this.#nowMs = nowMs;
  }

  get size(): number {
    return this.#markets.size;
  }

  /** Whether it is a followed account of a coin, so that all trades of that coin may write to it. */
  follows(address: string): boolean {
    return this.#followed.has(address);
  }

  /** The bytes of a followed account; null if it is not followed, or its state is uncertain. */
  bytesOf(address: string): Uint8Array | null {
    if (this.#accounts === null || !this.#followed.has(address)) return null;
    return this.#accounts.current([address])?.states[0]?.account?.data ?? null;
  }

  /** Returns at once if its accounts are followed. Concurrent calls share one read. Rejects with an `RpcError`; throws TypeError if `mint` is no address. */
  read(mint: string): MarketRead | Promise<MarketRead> {
    const market = this.#use(mint);
    // A pool that opened since is found in the background, and read by the next call.
    void this.#pools.lookUp(mint);
    const known = this.#accounts === null ? freshOf(market.last, marketTtlMs, this.#nowMs()) : this.#current(market, this.#accounts);
    if (known !== null) {
      this.counts.hits++;
      return known;
    }
    return this.#readShared(market);
  }

  /** Looks up the coin's pools in the directory. Call it before `readNow`. Null if no lookup is needed. */
  lookUp(mint: string): Promise<void> | null {
    return this.#pools.lookUp(mint);
  }

  /** Reads the market from the endpoints. Other reads in the same turn of the event loop share the request, and thus have the same slot. */
  readNow(mint: string): Promise<MarketRead> {
    return this.#readFresh(this.#use(mint));
  }

  /** Like `readUntilAgreed`. Rejects with an `RpcError`. */
  readAgreed(mint: string, slot: number): Promise<MarketRead> {
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
    const ahead = [...this.#markets.values()].filter(({ asked }) => !asked);
    if (ahead.length >= maxWarmedAhead) this.#evict(ahead[0]!);
    const market = this.#add(mint, false);
    this.#warming++;
    // If the read fails, the coin is read when it is requested.
    void this.#readShared(market)
      .catch(() => this.#evict(market))
      .finally(() => this.#warming--);
  }

  /** Drops coins that nobody requests. Call it every few seconds if accounts are followed. */
  check(): void {
    const nowMs = this.#nowMs();
    for (const market of this.#markets.values()) {
      if (nowMs - market.usedAtMs > (market.asked ? idleAfterMs : warmedIdleAfterMs)) this.#evict(market);
    }
  }

  #use(mint: string): HeldMarket {
    const known = this.#markets.get(mint);
    if (known === undefined) return this.#add(mint, true);
    known.asked = true;
    known.usedAtMs = this.#nowMs();
    this.#markets.delete(mint);
    this.#markets.set(mint, known);
    return known;
  }

  #add(mint: string, asked: boolean): HeldMarket {
    const empty = { followed: [], all: [], assembled: null, states: [], last: null, reading: null };
    const market: HeldMarket = { mint, plan: this.#pools.planOf(mint), asked, usedAtMs: this.#nowMs(), ...empty };
    this.#markets.set(mint, market);
    const [oldest] = this.#markets.values();
    if (this.#markets.size > (this.#accounts === null ? maxMarkets : maxHotMarkets)) this.#evict(oldest!);
    return market;
  }

  #evict(market: HeldMarket): void {
    if (!this.#markets.delete(market.mint)) return;
    this.counts.evicted++;
    if (this.#accounts !== null) this.#follow(market, [], this.#accounts);
  }

  #current(market: HeldMarket, accounts: FollowedAccounts): MarketRead | null {
    if (market.followed.length === 0 || this.#lacksPools(market)) return null;
    const current = accounts.current(market.all);
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
    return { result: assembled, settings: asOf, soleSources, disputed: [], othersAreLate: false, isDisputed: false, ...asOf };
  }

  /** The directory has named another pool of the coin since the market was read. */
  #lacksPools(market: HeldMarket): boolean {
    const { mint, plan } = market;
    const newest = this.#pools.planOf(mint);
    if (newest === plan) return false;
    const known = new Set(plan.pools.map(({ addresses }) => addresses[0]));
    if (newest.pools.some(({ addresses: [pool] }) => !known.has(pool))) return true;
    // The depths are new.
    Object.assign(market, { plan: newest, assembled: null });
    return false;
  }

  #readShared(market: HeldMarket): Promise<MarketRead> {
    if (market.reading !== null) {
      this.counts.shared++;
      return market.reading;
    }
    const started = this.#readFresh(market).finally(() => (market.reading = null));
    market.reading = started;
    return started;
  }

  async #readFresh(market: HeldMarket): Promise<MarketRead> {
    const pools = this.#pools;
    const known = this.#accounts === null ? freshOf(this.#settings, settingsTtlMs, this.#nowMs()) : null;
    const answer = await pools.readMarket(market.mint, {
      settings: known,
      onRead: (addresses, read) => {
        this.counts.reads++;
        this.#accounts?.addRead(addresses, read);
      },
    });
    const { plan, read, result, disputed, settings, accounts } = answer;
    this.counts.malformed += result.kind === 'market' ? result.market.malformed : Number(result.kind === 'malformed');
    market.plan = plan;
    const { slot, askedAtMs, othersAreLate } = read;
    const ofSettings = { slot: settings.slot, askedAtMs: settings.askedAtMs };
    const votes = { soleSources: soleSourceOf(read, this.#endpoints), isDisputed: isDisputed(read) };
    const found: MarketRead = { result, disputed, othersAreLate, ...votes, settings: ofSettings, slot, askedAtMs };
    if (this.#accounts === null) this.#retain(market, found, settings);
    else if (this.#markets.get(market.mint) === market) {
      const followed =
        result.kind === 'market' && result.market.pools.length > 0 ? accountsToFollow(plan, result.market.pools, accounts) : [];
      this.#follow(market, followed, this.#accounts);
    }
    return found;
  }

  #retain(market: HeldMarket, read: MarketRead, settings: SettingsRead): void {
    market.last = read;
    // Settings are reused only if all accounts exist and no endpoint contradicts them, or may still do so.
    const isAgreed = settings.accounts.size === this.#pools.settings.length && !read.isDisputed;
    if (isAgreed && (this.#settings === null || settings.askedAtMs > this.#settings.askedAtMs)) this.#settings = settings;
    for (const oldest of this.#markets.values()) {
      if (oldest.reading !== null || freshOf(oldest.last, marketTtlMs, this.#nowMs()) !== null) return;
      this.#evict(oldest);
    }
  }

  #follow(market: HeldMarket, addresses: readonly string[], accounts: FollowedAccounts): void {
    const before = new Set(market.followed);
    const followed: string[] = [];
    let isWhole = true;
    for (const address of addresses) {
      if (before.delete(address) || accounts.follow(address)) followed.push(address);
      else isWhole = false;
    }
    for (const address of before) accounts.release(address);
    if (!isWhole) for (const address of followed.splice(0)) accounts.release(address);
    for (const address of market.followed) this.#followed.delete(address);
    for (const address of followed) this.#followed.add(address);
    market.followed = followed;
    market.all = [...market.followed, ...this.#pools.settings];
    market.assembled = null;
  }
}

/** Null if it was requested too long ago, or in the future: then the clock was set back. */
function freshOf<T extends AsOf>(read: T | null, ttlMs: number, nowMs: number): T | null {
  const ageMs = read === null ? -1 : nowMs - read.askedAtMs;
  return ageMs >= 0 && ageMs <= ttlMs ? read : null;
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

/** For `/metrics`. */
export function marketMetrics({ hits, reads, shared, malformed }: MarketCounts): Metric[] {
  return metricsOf('sluice_gateway', [
    ['quote_market_hits_total', 'Markets for quotes that were read a moment ago.', hits],
    ['quote_market_reads_total', 'Markets for quotes that were read.', reads],
    ['quote_market_shared_total', 'Requests for a market that was being read already.', shared],
    ['quote_market_malformed_total', 'Markets, or pools of markets, whose accounts could not be understood.', malformed],
  ]);
}
