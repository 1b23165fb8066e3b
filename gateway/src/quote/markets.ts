import { quoteCoins } from '@sluice/shared/money.ts';
import type { AccountBytes } from '@sluice/shared/venues/quoting.ts';
import type { Venue } from '@sluice/shared/venues/venue.ts';
import type { AccountReader } from '../chain/account-reader.ts';
import { assembleMarket, narrowPlan, planMarket, type AssembledMarket, type MarketPlan } from './token-market.ts';

/** A market answers for this long after it was asked for: about a slot. */
export const marketTtlMs = 400;
/** The programs' settings and fee tables, likewise. */
export const settingsTtlMs = 30_000;
/** Addresses of markets that are kept, 1.3 KB each; the oldest go. */
const maxPlans = 4_096;
/** Markets that are kept, 5 KB each: as many as are read while one of them is good for an answer. The oldest go. */
export const maxMarkets = 1_024;
/** Reads of one market in a row: the second where its quote coin had to be learnt, the third where that changed meanwhile. */
const maxReads = 3;

interface AsOf {
  readonly slot: number;
  readonly askedAtMs: number;
}

export interface MarketRead extends AsOf {
  readonly result: Exclude<AssembledMarket, { kind: 'more' }>;
  readonly settings: AsOf;
}

/** A market for which the endpoints were asked. */
export interface PolledMarket extends MarketRead {
  /** The market by other endpoints' word, where they report another state and no two report the same. */
  readonly disputed: readonly Pick<MarketRead, 'slot' | 'result'>[];
  /** One endpoint alone reports it, and another one that may contradict it has not answered in time. */
  readonly othersAreLate: boolean;
}

export interface Markets {
  /** At once where it was read a moment ago. The same market is asked for once at a time. Rejects with an `RpcError`. */
  read(mint: string): PolledMarket | Promise<PolledMarket>;
  /** Asks in any case, in this turn: what else is read in it is of the same slot. */
  readNow(mint: string): Promise<PolledMarket>;
  readonly counters: { readonly hits: number; readonly reads: number; readonly shared: number; readonly malformed: number };
}

interface Settings extends AsOf {
  readonly accounts: ReadonlyMap<string, AccountBytes>;
}

/** Reads markets of coins from the chain, all accounts of one in one call, and keeps them for a moment. */
export function createMarkets(reader: AccountReader, venues: readonly Venue[], nowMs: () => number = Date.now): Markets {
  const counters = { hits: 0, reads: 0, shared: 0, malformed: 0 };
  const settingsAddresses = [...new Set(venues.flatMap(({ quoting }) => quoting?.settings ?? []))];
  const plans = new Map<string, MarketPlan>();
  const kept = new Map<string, PolledMarket>();
  /** No more than requests are under way; the reader ends each of them in time. */
  const asked = new Map<string, Promise<PolledMarket>>();
  let settings: Settings | null = null;

  const isFresh = (asOf: AsOf, ttlMs: number): boolean => {
    const ageMs = nowMs() - asOf.askedAtMs;
    return ageMs >= 0 && ageMs <= ttlMs;
  };

  function planOf(mint: string): MarketPlan {
    return plans.get(mint) ?? keep(plans, mint, planMarket(mint, [...quoteCoins.keys()], venues), maxPlans);
  }

  /** What was read longest ago stands first. */
  function forgetOld(): void {
    for (const [mint, read] of kept) {
      if (isFresh(read, marketTtlMs)) return;
      kept.delete(mint);
    }
  }

  async function readOnce(
    plan: MarketPlan,
  ): Promise<Pick<PolledMarket, 'disputed' | 'othersAreLate'> & { assembled: AssembledMarket; asOf: AsOf; settings: Settings }> {
    counters.reads++;
    const known = settings !== null && isFresh(settings, settingsTtlMs) ? settings : null;
    const addresses = known === null ? [...plan.addresses, ...settingsAddresses] : plan.addresses;
    const { slot, askedAtMs, accounts, disputed, othersAreLate } = await reader.read(addresses);
    const found = byAddress(addresses, accounts);
    const used = known ?? { slot, askedAtMs, accounts: new Map(settingsAddresses.flatMap((at) => entryOf(found, at))) };
    // A node that lacks one of them is asked again the next time, and so is one that others contradict, or may contradict.
    const isWhole = used.accounts.size === settingsAddresses.length;
    if (isWhole && disputed.length === 0 && !othersAreLate && (settings === null || used.askedAtMs > settings.askedAtMs)) settings = used;
    const assemble = (of: ReadonlyMap<string, AccountBytes>): AssembledMarket =>
      assembleMarket(plan, (address) => of.get(address) ?? used.accounts.get(address) ?? null);
    const others = disputed.map((other) => ({ slot: other.slot, result: decided(assemble(byAddress(addresses, other.accounts))) }));
    return { assembled: assemble(found), disputed: others, othersAreLate, asOf: { slot, askedAtMs }, settings: used };
  }

  async function readFresh(mint: string): Promise<PolledMarket> {
    let plan = planOf(mint);
    for (let left = maxReads; left > 0; left--) {
      const { assembled, disputed, othersAreLate, asOf, settings: used } = await readOnce(plan);
      if (assembled.kind === 'more') {
        plan = keep(plans, mint, planMarket(mint, [assembled.quoteMint], venues), maxPlans);
        continue;
      }
      if (assembled.kind === 'malformed') counters.malformed++;
      if (assembled.kind === 'market') narrow(plan, assembled.market.pools[0]?.pool.quoteMint);
      const ofSettings = { slot: used.slot, askedAtMs: used.askedAtMs };
      const read: PolledMarket = { result: assembled, disputed, othersAreLate, settings: ofSettings, ...asOf };
      keep(kept, mint, read, maxMarkets);
      forgetOld();
      return read;
    }
    const [slot, askedAtMs] = [0, nowMs()];
    const asOf = { slot, askedAtMs };
    return { ...asOf, result: changesItsQuoteCoin, disputed: [], othersAreLate: false, settings: asOf };
  }

  /** The quote coin of a curve never changes: the others need not be asked for again. */
  function narrow(plan: MarketPlan, quoteMint: string | undefined): void {
    if (quoteMint !== undefined && plan.quoteMints.length > 1) keep(plans, plan.mint, narrowPlan(plan, quoteMint), maxPlans);
  }

  return {
    counters,
    read(mint) {
      const recent = kept.get(mint);
      if (recent !== undefined && isFresh(recent, marketTtlMs)) {
        counters.hits++;
        return recent;
      }
      const running = asked.get(mint);
      if (running !== undefined) {
        counters.shared++;
        return running;
      }
      const started = readFresh(mint).finally(() => asked.delete(mint));
      asked.set(mint, started);
      return started;
    },
    readNow: readFresh,
  };
}

const changesItsQuoteCoin = { kind: 'malformed', venue: 'any', reason: 'its quote coin changes with every read' } as const;

/** Of a node that names another quote coin nothing more is read: it says something else than the one that counts. */
function decided(assembled: AssembledMarket): MarketRead['result'] {
  return assembled.kind === 'more' ? changesItsQuoteCoin : assembled;
}

function byAddress(addresses: readonly string[], accounts: readonly (AccountBytes | null)[]): ReadonlyMap<string, AccountBytes> {
  return new Map(accounts.flatMap((account, at) => (account === null ? [] : [[addresses[at]!, account] as const])));
}

function entryOf(accounts: ReadonlyMap<string, AccountBytes>, address: string): readonly (readonly [string, AccountBytes])[] {
  const account = accounts.get(address);
  return account === undefined ? [] : [[address, account]];
}

/** Puts it at the end, and lets the oldest go where there are too many. */
function keep<T>(map: Map<string, T>, key: string, value: T, most: number): T {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) {
    const oldest = map.keys().next();
    if (oldest.done !== true) map.delete(oldest.value);
  }
  return value;
}
