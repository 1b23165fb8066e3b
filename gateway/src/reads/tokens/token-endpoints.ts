import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { MarketReader } from '@sluice/shared/market/market.ts';
import { candleLimits, tokenCandlesEndpoint, tokenTradesEndpoint, tradeLimits } from '@sluice/shared/wire/rest/token-history.ts';
import { searchLimits, tokenInfoEndpoint, tokenSearchEndpoint } from '@sluice/shared/wire/rest/token.ts';
import { bindEndpoint, type BoundEndpoint } from '../../http/endpoint.ts';
import type { History } from '../../stream/history/history.ts';
import { readCandles } from '../pages/candle-pages.ts';
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
const opening = Buffer.from('{"mint":"');
const tradesKey = Buffer.from('","trades":[');
const nextKey = Buffer.from('],"next":');
const closing = Buffer.from('}');
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
    const { interval = '1m', from = null, to = null, limit = candleLimits.default } = query;
    const nowS = Math.floor(clock.wallMs() / 1000);
    const found = await attempt(parts.log, () => readCandles(parts.market, { mint, interval, fromS: from, toS: to, limit }, nowS));
    if (found === null) return recordUnavailable;
    const refusal = found.length > 0 ? null : await refusalFor(book, mint);
    return refusal ?? { json: { mint, interval, candles: [...found] } };
  });

  const trades = bindEndpoint(tokenTradesEndpoint, async ({ params: { mint }, query }) => {
    if (!isAddress(mint)) return invalidMint;
    const { before = null, limit = tradeLimits.default } = query;
    const page = await attempt(parts.log, () => readTrades(parts, mint, before, limit));
    if (page === null) return recordUnavailable;
    const refusal = page.trades.length > 0 ? null : await refusalFor(book, mint);
    if (refusal !== null) return refusal;
    const joined = page.trades.flatMap((trade, index) => (index === 0 ? [trade] : [comma, trade]));
    const next = Buffer.from(JSON.stringify(page.next));
    return { jsonBytes: Buffer.concat([opening, Buffer.from(mint), tradesKey, ...joined, nextKey, next, closing]) };
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
