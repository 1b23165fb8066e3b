import { metricsOf, type Metric } from '@sluice/shared/operations/metric.ts';
import type { DecidedMarket, PoolReader, SettingsRead } from '@sluice/gateway/reads/pools/pool-reader.ts';

/** A market is used for this long after it was requested: about a slot. */
export const marketTtlMs = 400;
/** Likewise for the settings and fee tables of the programs. */
export const settingsTtlMs = 30_000;
/** Most markets in memory, 5 KB each. That many can be read within `marketTtlMs`. Beyond that the oldest is dropped. */
export const maxMarkets = 1_024;

interface AsOf {
  readonly slot: number;
  readonly askedAtMs: number;
}

export interface MarketRead extends AsOf {
  readonly result: DecidedMarket;
  readonly settings: AsOf;
}

/** A market for which the endpoints were asked. */
export interface PolledMarket extends MarketRead {
  /** The market as other endpoints report it, if they report another state and no two report the same. */
  readonly disputed: readonly Pick<MarketRead, 'slot' | 'result'>[];
  /** One endpoint alone reports it, and another one that may contradict it has not answered in time. */
  readonly othersAreLate: boolean;
}

export interface Markets {
  /** Returns at once if the market was read within `marketTtlMs`. Concurrent calls for a market share one read. Rejects with an `RpcError`. */
  read(mint: string): PolledMarket | Promise<PolledMarket>;
  /** Looks up the coin's pools in the directory. Call it before `readNow`. Null if no lookup is needed. */
  lookUp(mint: string): Promise<void> | null;
  /** Reads the market from the endpoints. Other reads in the same turn of the event loop share the request, and thus have the same slot. */
  readNow(mint: string): Promise<PolledMarket>;
  readonly counters: { readonly hits: number; readonly reads: number; readonly shared: number; readonly malformed: number };
}

/** Reads the markets of coins, and caches each for a moment. */
export function createMarkets(pools: PoolReader, nowMs: () => number = () => performance.now()): Markets {
  const counters = { hits: 0, reads: 0, shared: 0, malformed: 0 };
  /** Oldest read first. */
  const recent = new Map<string, PolledMarket>();
  /** Bounded by the number of running requests; the reader ends each read in time. */
  const running = new Map<string, Promise<PolledMarket>>();
  let settings: SettingsRead | null = null;

  const isFresh = (asOf: AsOf, ttlMs: number): boolean => {
    const ageMs = nowMs() - asOf.askedAtMs;
    return ageMs >= 0 && ageMs <= ttlMs;
  };

  async function readFresh(mint: string): Promise<PolledMarket> {
    const known = settings !== null && isFresh(settings, settingsTtlMs) ? settings : null;
    const { read, result, disputed, settings: used } = await pools.readMarket(mint, { settings: known, onRead: () => counters.reads++ });
    const { slot, askedAtMs, othersAreLate } = read;
    // Settings are reused only if all accounts exist and no endpoint contradicts them, or may still do so.
    const isAgreed = used.accounts.size === pools.settings.length && disputed.length === 0 && !othersAreLate;
    if (isAgreed && (settings === null || used.askedAtMs > settings.askedAtMs)) settings = used;
    if (result.kind === 'malformed') counters.malformed++;
    const ofSettings = { slot: used.slot, askedAtMs: used.askedAtMs };
    const market: PolledMarket = { result, disputed, othersAreLate, settings: ofSettings, slot, askedAtMs };
    keep(mint, market);
    return market;
  }

  function keep(mint: string, market: PolledMarket): void {
    recent.delete(mint);
    recent.set(mint, market);
    for (const [oldest, read] of recent) {
      if (recent.size <= maxMarkets && isFresh(read, marketTtlMs)) return;
      recent.delete(oldest);
    }
  }

  return {
    counters,
    read(mint) {
      const known = recent.get(mint);
      if (known !== undefined && isFresh(known, marketTtlMs)) {
        counters.hits++;
        return known;
      }
      const under = running.get(mint);
      if (under !== undefined) {
        counters.shared++;
        return under;
      }
      const started = readFresh(mint).finally(() => running.delete(mint));
      running.set(mint, started);
      return started;
    },
    lookUp: (mint) => pools.lookUp(mint),
    readNow: readFresh,
  };
}

/** For `/metrics`. */
export function marketMetrics({ hits, reads, shared, malformed }: Markets['counters']): Metric[] {
  const { counter } = metricsOf('sluice_gateway');
  return [
    counter('quote_market_hits_total', 'Markets for quotes that were read a moment ago.', hits),
    counter('quote_market_reads_total', 'Markets for quotes that were read.', reads),
    counter('quote_market_shared_total', 'Requests for a market that was being read already.', shared),
    counter('quote_market_malformed_total', 'Markets whose accounts could not be understood.', malformed),
  ];
}
