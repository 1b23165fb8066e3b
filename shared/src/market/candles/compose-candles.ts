import { baseIntervals, candleIntervals, type BaseInterval, type Bucket, type CandleInterval } from '../market.ts';

/** The base interval from which the candles of an interval are composed: the longest one that divides it. */
export function baseOf(interval: CandleInterval): BaseInterval {
  const seconds = candleIntervals[interval];
  if (seconds % baseIntervals['1h'] === 0) return '1h';
  return seconds % baseIntervals['1m'] === 0 ? '1m' : '1s';
}

/** Start of the candle that contains a moment, in Unix seconds. */
export function candleStart(atS: number, interval: CandleInterval): number {
  const seconds = candleIntervals[interval];
  return atS - (atS % seconds);
}

/**
 * Composes the candles of an interval from base buckets, which must come oldest first. Intervals without trades give no candle. The first
 * and the last candle cover only the buckets that were passed.
 */
export function composeBuckets(buckets: readonly Bucket[], interval: CandleInterval): readonly Bucket[] {
  const composed: Bucket[] = [];
  let candle: { -readonly [Field in keyof Bucket]: Bucket[Field] } | null = null;
  for (const bucket of buckets) {
    const startS = candleStart(bucket.startS, interval);
    if (candle === null || candle.startS !== startS) {
      candle = { ...bucket, startS };
      composed.push(candle);
      continue;
    }
    candle.high = Math.max(candle.high, bucket.high);
    candle.low = Math.min(candle.low, bucket.low);
    candle.close = bucket.close;
    candle.openUsd ??= bucket.openUsd;
    candle.highUsd = extreme(Math.max, candle.highUsd, bucket.highUsd);
    candle.lowUsd = extreme(Math.min, candle.lowUsd, bucket.lowUsd);
    candle.closeUsd = bucket.closeUsd ?? candle.closeUsd;
    candle.volumeBase += bucket.volumeBase;
    candle.volumeQuote += bucket.volumeQuote;
    candle.volumeSol += bucket.volumeSol;
    candle.volumeUsd += bucket.volumeUsd;
    candle.buys += bucket.buys;
    candle.sells += bucket.sells;
  }
  return composed;
}

function extreme(of: (a: number, b: number) => number, a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return of(a, b);
}
