import { baseOf, composeBuckets } from '@sluice/shared/market/candles/compose-candles.ts';
import { baseIntervals, type Bucket, type MarketReader } from '@sluice/shared/market/market.ts';
import { candleIntervals, type CandleInterval } from '@sluice/shared/wire/values/intervals.ts';
import type { Candle } from '@sluice/shared/wire/rest/token-history.ts';

/** How far the chain's clock may be ahead of ours, in seconds. */
const aheadS = 120;
/** How long after its chain time a trade usually arrives at the latest. */
const lateS = 5;

export interface CandleQuestion {
  readonly mint: string;
  readonly interval: CandleInterval;
  readonly fromS: number | null;
  readonly toS: number | null;
  readonly limit: number;
}

/** The newest `limit` candles that begin in `[fromS, toS)`, oldest first. Rejects if the market's state cannot be read. */
export async function readCandles(
  market: Pick<MarketReader, 'buckets'>,
  question: CandleQuestion,
  nowS: number,
): Promise<readonly Candle[]> {
  const { mint, interval, fromS, toS, limit } = question;
  const seconds = candleIntervals[interval];
  const base = baseOf(interval);
  const firstS = Math.ceil((fromS ?? 0) / seconds) * seconds;
  const endS = Math.ceil(Math.min(toS ?? Number.MAX_SAFE_INTEGER, nowS + aheadS) / seconds) * seconds;
  if (endS <= firstS) return [];
  const ratio = seconds / baseIntervals[base];
  // Read one more candle than requested, because the oldest may be incomplete.
  const most = (limit + 1) * ratio;
  const buckets = await market.buckets(mint, base, firstS, endS, most);
  const composed = composeBuckets(buckets, interval);
  const whole = buckets.length < most ? composed : composed.slice(1);
  return whole.slice(-limit).map((bucket) => candleOf(bucket, seconds, nowS));
}

function candleOf({ startS, ...bucket }: Bucket, seconds: number, nowS: number): Candle {
  return { start: startS, ...bucket, trades: bucket.buys + bucket.sells, closed: startS + seconds + lateS <= nowS };
}
