import type { LeaseTerm, LogPosition } from '../bus/bus.ts';
import type { CandleEvent, candleFields } from '../wire/events/events.ts';
import type { VoidedPrices } from './candles/fold-trades.ts';
import type { MintHead } from './pools/main-pool.ts';
import type { Tally } from './candles/tally.ts';
import type { Undecided, UndecidedPrice, UndecidedTrade } from './verdicts/undecided.ts';

/**
 * State of the market, stored outside the log: what clients request often, and for a longer time than the log covers. One ingest process, the holder
 * of the lease `market`, computes it from the log, each event exactly once. Every gateway reads it. It is in Redis, or in this process if
 * the bus is; then ingest and gateway share one object.
 */
export const baseIntervals = { '1s': 1, '1m': 60, '1h': 3600 } as const;
export type BaseInterval = keyof typeof baseIntervals;

export { candleIntervals, type CandleInterval } from '../wire/values/intervals.ts';

/**
 * Trades of one mint in `[startS, startS + interval)`, by block time. Prices are in quote coins and in USD for one token. `open` is the price before
 * the first trade.
 */
export interface Bucket extends Readonly<Pick<CandleEvent, Exclude<keyof typeof candleFields, 'start' | 'trades'>>> {
  /** Unix seconds, a multiple of the interval. */
  readonly startS: number;
}

export interface MarketSummary {
  /** How far the state is: it contains all entries of the log up to here, and none after it. */
  readonly checkpoint: LogPosition | null;
  readonly minutes: readonly Bucket[];
  readonly price: Uint8Array | null;
}

/** Seconds that a summary covers. */
export const summarySeconds = 86_400;

export interface MarketReader {
  /**
   * Buckets with trades in `[fromS, toS)`, oldest first. At most `limit`; the newest ones if there are more. `nowUs`: Unix microseconds; without
   * it, the newest slot counts at once.
   */
  buckets(mint: string, interval: BaseInterval, fromS: number, toS: number, limit: number, nowUs?: number): Promise<readonly Bucket[]>;
  /**
   * The initial state of a warm token, all of one moment: the checkpoint, the minutes of the last 24 hours, with the prices that count then, and the
   * newest price event of the main pool (its JSON as published; null if none is stored).
   */
  summary(mint: string, nowS: number): Promise<MarketSummary>;
  /** Trade events (JSON as published), newest first. With `before`, those older than the trade with that id, if it is stored. */
  trades(mint: string, before: string | null, limit: number): Promise<readonly Uint8Array[]>;
  /**
   * Reports that these topics of the channel `candles` are followed. They are published for another `demandTtlMs`. Returns the topics that
   * are refused because `marketLimits.candleTopics` others are in demand.
   */
  reportDemand(topics: readonly string[]): Promise<readonly string[]>;
}

/** How long a topic stays in demand after the last report. It is longer than a client may be disconnected without missing anything. */
export const demandTtlMs = 300_000;

/** Bounds of the state. */
export const marketLimits = {
  /** Newest trades of a mint. */
  tradesPerMint: 100,
  /** Candle topics in demand at one time. A further topic is refused until the demand for another one has expired. */
  candleTopics: 20_000,
  /** Characters of a mint: the longest address. */
  mintLength: 44,
} as const;

/** One base bucket of a mint, and what is added to it. */
export interface BucketChange {
  readonly interval: BaseInterval;
  readonly startS: number;
  readonly tally: Tally;
}

/**
 * The changes that a section of the log makes to one mint. What can still be retracted is in `undecided` only. Head, buckets and price
 * contain what this section settled (`undecided.ts`).
 */
export interface MintChange {
  readonly mint: string;
  /** Null if it does not change. */
  readonly head: MintHead | null;
  readonly buckets: readonly BucketChange[];
  /** Removed from what is stored before `buckets` are added; null if nothing is. */
  readonly voided: VoidedPrices | null;
  /**
   * Field name of the newest price event of the main pool, which was undecided before or is in this section; null if it does not change.
   */
  readonly price: string | null;
  /** Trade events (JSON as published) in log order: the newest `tradesPerMint`. */
  readonly trades: readonly Uint8Array[];
  /** Ids of retracted trades of an earlier section. A trade in `trades` with such an id was published after the retraction. */
  readonly retracted: readonly string[];
  readonly undecided: {
    readonly trades: readonly UndecidedTrade[];
    readonly prices: readonly UndecidedPrice[];
    /** Field names (`undecided.ts`) of entries that are now settled or retracted. */
    readonly gone: readonly string[];
  };
  /** Unix seconds in which a value that readers can see changed. */
  readonly touched: readonly number[];
  /** Latest block time of the trades; 0 if there were none. */
  readonly tradedS: number;
}

/** A section of the log: from the current checkpoint (null: from the start) to the checkpoint after it. */
export interface MarketBatch {
  readonly from: LogPosition | null;
  readonly to: LogPosition;
  readonly changes: readonly MintChange[];
}

/** Changes in the demand for candle topics. */
export interface TopicTurns {
  /** In demand, and not published yet. */
  readonly begin: readonly string[];
  /** Published, and no longer in demand. */
  readonly end: readonly string[];
}

/** The operations of the holder of the lease `market`; no other process may use them. If the result is `fenced`, nothing was done. */
export interface MarketWriter {
  checkpoint(): Promise<LogPosition | null>;
  /** Heads of those mints that have one; settled events only. */
  heads(mints: readonly string[]): Promise<ReadonlyMap<string, MintHead>>;
  /** All undecided entries, by mint. */
  undecided(): Promise<ReadonlyMap<string, Undecided>>;
  /**
   * Applies a batch as a whole, or not at all. `fenced`: the term is over. `stale`: the state's checkpoint is not `from`. If it rejects,
   * it is unknown whether the batch was applied; the same batch may be passed again, and is applied only once.
   */
  apply(batch: MarketBatch, leaseTerm: LeaseTerm): Promise<'applied' | 'fenced' | 'stale'>;
  /** Published topics, each with the start of its oldest candle that was not published as closed (0: none). */
  published(): Promise<ReadonlyMap<string, number>>;
  turns(): Promise<TopicTurns>;
  /**
   * Records what was published: topics that were started or continued (with the start of their oldest open candle), and topics that ended.
   */
  note(open: ReadonlyMap<string, number>, ended: readonly string[], leaseTerm: LeaseTerm): Promise<'applied' | 'fenced'>;
}

export interface MarketStore extends MarketReader, MarketWriter {
  close(): Promise<void>;
}
