/**
 * State of the market beside the log: what is asked for again and again and outlives the log's memory. One process keeps it
 * (the ingest process that holds the lease `market`), from the log itself and exactly once; every gateway reads it.
 * In Redis, or in this process where the bus is; then ingest and gateway share one object.
 */
export const baseIntervals = { '1s': 1, '1m': 60, '1h': 3600 } as const;
export type BaseInterval = keyof typeof baseIntervals;

/** Intervals of candles that clients ask for, in seconds; all are made from the base ones. */
export const candleIntervals = {
  '1s': 1,
  '5s': 5,
  '15s': 15,
  '1m': 60,
  '5m': 300,
  '15m': 900,
  '1h': 3600,
  '4h': 14_400,
  '1d': 86_400,
} as const;
export type CandleInterval = keyof typeof candleIntervals;

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

export interface MarketReader {
  /** Buckets with trades, oldest first, of `[fromS, toS)`; at most `limit`, the newest ones. */
  buckets(mint: string, interval: BaseInterval, fromS: number, toS: number, limit: number): Promise<readonly Bucket[]>;
  /**
   * What a warm token begins with, of one moment: the checkpoint, the minutes of the last 24 hours, and the newest price event
   * (its JSON as published; null where none was kept).
   */
  summary(
    mint: string,
    nowS: number,
  ): Promise<{ readonly checkpoint: Checkpoint | null; readonly minutes: readonly Bucket[]; readonly price: Uint8Array | null }>;
  /** Trade events as published (JSON), newest first; those older than the one with the id `before`, where it is given and kept. */
  trades(mint: string, before: string | null, limit: number): Promise<readonly Uint8Array[]>;
  /** Says that somebody follows these topics (of the channel `candles`) for another `wantTtlMs`: only such are published. */
  want(topics: readonly string[]): Promise<void>;
}

/** How long a topic stays wanted after the last word: beyond what a client may be away and still miss nothing. */
export const wantTtlMs = 300_000;
