import type { Lease } from '../bus/bus.ts';
import type { MintHead } from './head.ts';
import type { Tally } from './tally.ts';
import type { Undecided, UndecidedPrice, UndecidedTrade } from './undecided.ts';

/**
 * State of the market beside the log: what is asked for again and again and outlives the log's memory. One process keeps it
 * (the ingest process that holds the lease `market`), from the log itself and exactly once; every gateway reads it.
 * In Redis, or in this process where the bus is; then ingest and gateway share one object.
 */
export const baseIntervals = { '1s': 1, '1m': 60, '1h': 3600 } as const;
export type BaseInterval = keyof typeof baseIntervals;

export { candleIntervals, type CandleInterval } from '../wire/intervals.ts';

/** Trades of one mint in `[startS, startS + interval)`, by block time. Prices are quote coins for one token, and USD. */
export interface Bucket {
  /** Unix seconds, a multiple of the interval. */
  readonly startS: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** Null where no trade of it had a price in USD. */
  readonly openUsd: number | null;
  readonly highUsd: number | null;
  readonly lowUsd: number | null;
  readonly closeUsd: number | null;
  /** Whole tokens, whole quote coins, SOL and USD through the pools. */
  readonly volumeBase: number;
  readonly volumeQuote: number;
  readonly volumeSol: number;
  readonly volumeUsd: number;
  readonly buys: number;
  readonly sells: number;
}

/** Where the state stands: all entries of the log up to `offset` are in it, none beyond. */
export interface Checkpoint {
  readonly epoch: string;
  readonly offset: number;
}

export interface MarketSummary {
  readonly checkpoint: Checkpoint | null;
  readonly minutes: readonly Bucket[];
  readonly price: Uint8Array | null;
}

/** Seconds that a summary reaches back. */
export const summarySeconds = 86_400;

export interface MarketReader {
  /** Buckets with trades, oldest first, of `[fromS, toS)`; at most `limit`, the newest ones. */
  buckets(mint: string, interval: BaseInterval, fromS: number, toS: number, limit: number): Promise<readonly Bucket[]>;
  /**
   * What a warm token begins with, of one moment: the checkpoint, the minutes of the last 24 hours, and the newest price event
   * of the main pool (its JSON as published; null where none was kept).
   */
  summary(mint: string, nowS: number): Promise<MarketSummary>;
  /** Trade events as published (JSON), newest first; those older than the one with the id `before`, where it is given and kept. */
  trades(mint: string, before: string | null, limit: number): Promise<readonly Uint8Array[]>;
  /**
   * Reports that these topics of the channel `candles` are followed. They are published for another `demandTtlMs`; others are not
   * published. Returns the topics that are refused, because `marketLimits.candleTopics` others are in demand.
   */
  reportDemand(topics: readonly string[]): Promise<readonly string[]>;
}

/** How long a topic is in demand after the last report: longer than a client may be away and still miss nothing. */
export const demandTtlMs = 300_000;

/** Bounds of what is kept. */
export const marketLimits = {
  /** Newest trades of a mint. */
  tradesPerMint: 100,
  /** Candle topics in demand at one time. One more is refused until the demand for another one has expired. */
  candleTopics: 20_000,
  /** Characters of a mint: the longest address. */
  mintLength: 44,
} as const;

/** One base bucket of a mint and what is added to it. */
export interface BucketChange {
  readonly interval: BaseInterval;
  readonly startS: number;
  readonly tally: Tally;
}

/**
 * What a stretch of the log changes of one mint. Of what can still be taken back only `undecided` knows; head, buckets and price are
 * of what has been settled with this stretch, and is counted for good (`undecided.ts`).
 */
export interface MintChange {
  readonly mint: string;
  /** Null where it stays as it is. */
  readonly head: MintHead | null;
  readonly buckets: readonly BucketChange[];
  /** Name of the field, undecided until now or of this stretch, of the newest price event of the main pool; null where it stays. */
  readonly price: string | null;
  /** Trade events (JSON as published) in log order, the newest `tradesPerMint` of them. */
  readonly trades: readonly Uint8Array[];
  /** Ids of trades that came in an earlier stretch and are taken back; whichever of `trades` has such an id came after that. */
  readonly retracted: readonly string[];
  readonly undecided: {
    readonly trades: readonly UndecidedTrade[];
    readonly prices: readonly UndecidedPrice[];
    /** Names of the fields (`undecided.ts`) of those that are settled, or taken back. */
    readonly gone: readonly string[];
  };
  /** Unix seconds in which what a reader is told changed. */
  readonly touched: readonly number[];
  /** Latest block time of the trades that came; 0 where none did. */
  readonly tradedS: number;
}

/** A stretch of the log: from where the state stands (null: from nothing) to where it stands afterwards. */
export interface MarketBatch {
  readonly from: Checkpoint | null;
  readonly to: Checkpoint;
  readonly changes: readonly MintChange[];
}

/** Changes in the demand for candle topics. */
export interface TopicTurns {
  /** In demand, and not published yet. */
  readonly begin: readonly string[];
  /** Published, and no longer in demand. */
  readonly end: readonly string[];
}

/** What the holder of the lease `market` does; nobody else. What is refused as `fenced` was not done. */
export interface MarketWriter {
  checkpoint(): Promise<Checkpoint | null>;
  /** Heads of the mints that have one, as far as they are settled. */
  heads(mints: readonly string[]): Promise<ReadonlyMap<string, MintHead>>;
  /** All that is undecided, by mint. */
  undecided(): Promise<ReadonlyMap<string, Undecided>>;
  /**
   * Applies a batch whole, or not at all: `fenced` where the holding is over, `stale` where the state does not stand at `from`.
   * Where it rejects, whether the batch was applied is unknown; the same batch may be given again, and is `applied` once.
   */
  apply(batch: MarketBatch, holding: Holding): Promise<'applied' | 'fenced' | 'stale'>;
  /** Topics that are published, with the start of the oldest candle of each that is not told as closed (0: none). */
  published(): Promise<ReadonlyMap<string, number>>;
  turns(): Promise<TopicTurns>;
  /** Notes what was published: topics begun or gone on with (to the start of their oldest open candle), and ended ones. */
  note(open: ReadonlyMap<string, number>, ended: readonly string[], holding: Holding): Promise<'applied' | 'fenced'>;
}

/** One holding of a lease. */
export interface Holding {
  readonly lease: Pick<Lease, 'name' | 'held' | 'fence'>;
  readonly fence: number;
}

export interface Market extends MarketReader, MarketWriter {
  close(): Promise<void>;
}
