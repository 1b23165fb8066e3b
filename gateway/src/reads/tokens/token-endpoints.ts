import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { baseOf, composeBuckets } from '@sluice/shared/market/candles/compose-candles.ts';
import { baseIntervals, type Bucket, type MarketReader } from '@sluice/shared/market/market.ts';
import { candleLimits, tokenCandlesEndpoint, tokenTradesEndpoint, tradeLimits } from '@sluice/shared/wire/rest/tokens/token-history.ts';
import type { Candle, TokenCandles } from '@sluice/shared/wire/rest/tokens/token-history.ts';
import { searchLimits, tokenInfoEndpoint, tokenSearchEndpoint } from '@sluice/shared/wire/rest/tokens/token.ts';
import { candleIntervals, type CandleInterval } from '@sluice/shared/wire/values/intervals.ts';
import { bindEndpoint, type BoundEndpoint } from '../../http/endpoint.ts';
import type { History } from '../../stream/history/history.ts';
import { refusalOf, type TokenBook, type TokenOutcome } from './token-book.ts';
import { readTrades } from '../pages/trade-pages.ts';

export interface TokenEndpointParts {
  readonly book: TokenBook;
  readonly market: MarketReader;
  readonly history: History;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Logger;
}

const invalidMint = { error: 'INVALID_MINT' } as const;
const comma = Buffer.from(',');

/** `/token/info`, `/token/search`, `/token/candles`, `/token/trades`. */
export function tokenEndpoints(parts: TokenEndpointParts): readonly BoundEndpoint[] {
  const { book, clock } = parts;
  const answerInfo = (outcome: TokenOutcome): { readonly jsonBytes: Buffer } | ReturnType<typeof refusalOf> => {
    if (!outcome.ok) return refusalOf(outcome);
    book.refreshIfDue(outcome.token);
    return { jsonBytes: book.render(outcome.token) };
  };
  const info = bindEndpoint(tokenInfoEndpoint, ({ params }) => {
    const outcome = book.find(params.mint);
    return outcome instanceof Promise ? outcome.then(answerInfo) : answerInfo(outcome);
  });

  const search = bindEndpoint(tokenSearchEndpoint, ({ query: { text, limit = searchLimits.default } }) => ({
    json: { tokens: [...book.names.find(text.trim(), limit)] },
  }));

  const candles = bindEndpoint(tokenCandlesEndpoint, async ({ params: { mint }, query }) => {
    if (!isAddress(mint)) return invalidMint;
    const { interval = '1m', from: fromS = 0, to: toS = Number.MAX_SAFE_INTEGER, limit = candleLimits.default, fill } = query;
    const nowS = Math.floor(clock.wallMs() / 1000);
    const question = { mint, interval, fromS, toS, limit, isFilled: fill === 'previous' };
    const found = await attempt(parts.log, () => readCandles(parts.market, question, nowS));
    if (found === null) return recordUnavailable;
    const refusal = found.candles.length > 0 || found.older ? null : await refusalFor(book, mint);
    return refusal ?? { json: { mint, interval, ...found } };
  });

  const trades = bindEndpoint(tokenTradesEndpoint, async ({ params: { mint }, query }) => {
    if (!isAddress(mint)) return invalidMint;
    const { before = null, limit = tradeLimits.default } = query;
    const page = await attempt(parts.log, () => readTrades(parts, mint, before, limit));
    if (page === null) return recordUnavailable;
    const refusal = page.trades.length > 0 ? null : await refusalFor(book, mint);
    if (refusal !== null) return refusal;
    const joined = page.trades.flatMap((trade, index) => (index === 0 ? [trade] : [comma, trade]));
    const opening = Buffer.from(`{"mint":"${mint}","trades":[`);
    const closing = Buffer.from(`],"next":${JSON.stringify(page.next)}}`);
    return { jsonBytes: Buffer.concat([opening, ...joined, closing]) };
  });

  return [info, search, candles, trades];
}

const recordUnavailable = { error: 'UPSTREAM_UNAVAILABLE', message: 'The stored trades cannot be read.' } as const;

/** If no trades are stored: checks whether the token exists. */
async function refusalFor(book: TokenBook, mint: string): Promise<ReturnType<typeof refusalOf> | null> {
  const outcome = await book.find(mint);
  return outcome.ok ? null : refusalOf(outcome);
}

/** Null: the market's state cannot be read. */
async function attempt<T>(log: Logger, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    log.warn({ err: error }, 'market_record_unavailable');
    return null;
  }
}

/** How far the chain's clock may be ahead of ours, in seconds. */
const aheadS = 120;
/** How long after its chain time a trade usually arrives at the latest. */
const lateS = 5;

interface CandleQuestion {
  readonly mint: string;
  readonly interval: CandleInterval;
  readonly fromS: number;
  readonly toS: number;
  readonly limit: number;
  readonly isFilled: boolean;
}

type CandlesFound = Pick<TokenCandles, 'candles' | 'older'>;

/** The newest `limit` candles that begin in `[fromS, toS)`, oldest first. Rejects if the market's state cannot be read. */
async function readCandles(market: Pick<MarketReader, 'buckets'>, question: CandleQuestion, nowS: number): Promise<CandlesFound> {
  const { mint, interval, fromS, toS, limit, isFilled } = question;
  const seconds = candleIntervals[interval];
  const base = baseOf(interval);
  const endS = Math.ceil(Math.min(toS, nowS + aheadS) / seconds) * seconds;
  const askedS = Math.ceil(fromS / seconds) * seconds;
  // A trade may be ahead of our clock, but no interval is filled ahead of it.
  const filledEndS = Math.min(endS, (Math.floor(nowS / seconds) + 1) * seconds);
  const firstS = isFilled ? Math.max(askedS, filledEndS - limit * seconds) : askedS;
  const ratio = seconds / baseIntervals[base];
  const read = (from: number, to: number, most: number) => market.buckets(mint, base, from, to, most, nowS * 1_000_000);
  // Read one more candle than requested, because the oldest may be incomplete.
  const most = (limit + 1) * ratio;
  const buckets = endS <= firstS ? [] : await read(firstS, endS, most);
  const composed = composeBuckets(buckets, interval);
  const whole = buckets.length < most ? composed : composed.slice(1);
  const isCut = whole.length < composed.length || whole.length > limit;
  const [previous] = isCut || firstS === 0 ? [] : await read(0, Math.min(firstS, endS), 1);
  const filled = isFilled ? fillGaps(whole, previous, { firstS, endS: filledEndS, seconds }) : whole;
  const candles = filled.slice(-limit).map((bucket) => candleOf(bucket, seconds, nowS));
  return { candles, older: isCut || previous !== undefined || filled.length > limit };
}

/** Every interval has a candle: one without a trade is flat, at the close before it. `previous`: the last bucket before the first interval. */
function fillGaps(
  found: readonly Bucket[],
  previous: Bucket | undefined,
  { firstS, endS, seconds }: { readonly firstS: number; readonly endS: number; readonly seconds: number },
): readonly Bucket[] {
  const filled: Bucket[] = [];
  const byStart = new Map(found.map((candle) => [candle.startS, candle]));
  let last = previous;
  const untilS = Math.max(endS, (found.at(-1)?.startS ?? 0) + seconds);
  for (let startS = previous === undefined ? (found[0]?.startS ?? untilS) : firstS; startS < untilS; startS += seconds) {
    last = byStart.get(startS) ?? flatAfter(last!, startS);
    filled.push(last);
  }
  return filled;
}

function flatAfter({ close, closeUsd }: Bucket, startS: number): Bucket {
  const usd = { openUsd: closeUsd, highUsd: closeUsd, lowUsd: closeUsd, closeUsd };
  const nothing = { volumeBase: 0, volumeQuote: 0, volumeSol: 0, volumeUsd: 0, buys: 0, sells: 0 };
  return { startS, open: close, high: close, low: close, close, ...usd, ...nothing };
}

function candleOf({ startS, ...bucket }: Bucket, seconds: number, nowS: number): Candle {
  return { start: startS, ...bucket, trades: bucket.buys + bucket.sells, closed: startS + seconds + lateS <= nowS };
}
