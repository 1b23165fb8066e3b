import { Type, type Static } from 'typebox';
import { candleFields, TradeEvent } from '../../events/events.ts';
import { candleIntervalNames } from '../../values/intervals.ts';
import { defineEndpoint } from '../endpoint.ts';
import { mintParams } from './token.ts';
import { Address, Closed, Count, EventId, Nullable, Titled, UnixSeconds } from '../../values/values.ts';
import { Limit, tokenRead } from '../fields.ts';

const Candle = Closed({
  ...candleFields,
  trades: Count('Both. 0 only for a candle that `fill` made.'),
  closed: Type.Boolean({
    description: 'The interval ended at least five seconds ago. A trade that arrives later still changes the candle.',
  }),
});
export type Candle = Static<typeof Candle>;

/** Candles of one answer. */
export const candleLimits = { default: 300, max: 1000 } as const;

export const tokenCandlesEndpoint = defineEndpoint({
  ...tokenRead,
  id: 'tokenCandles',
  path: '/token/candles/{mint}',
  summary: 'Candles of one token: open, high, low, close and volume for each interval.',
  description:
    'Oldest first. An interval without a trade has no candle, unless `fill` is `previous`. If there are more than `limit` between `from` and `to`, the newest are returned. For older ones, set `to` to the `start` of the first. So one request with `to` and `limit` returns the `countBack` candles before a moment that a datafeed asks for. `older` says whether any candle is stored before those of the answer.',
  params: mintParams,
  query: Closed({
    interval: Type.Optional(Type.Enum(candleIntervalNames, { description: 'Default: `1m`.' })),
    from: Type.Optional(UnixSeconds('Unix seconds; candles that begin at or after it.')),
    to: Type.Optional(UnixSeconds('Unix seconds; candles that begin before it. Default: now.')),
    limit: Limit('candles', candleLimits),
    fill: Type.Optional(
      Type.Enum(['previous'], {
        description:
          'An interval without a trade gets a candle at the close of the one before it, with volumes and counts of 0, from the first candle on and up to now. Such candles count for `limit`.',
      }),
    ),
  }),
  answer: Titled('tokenCandles', {
    mint: Address('Mint.'),
    interval: Type.Enum(candleIntervalNames),
    candles: Type.Array(Candle, { maxItems: candleLimits.max }),
    older: Type.Boolean({
      description:
        'Whether a candle with trades is stored that begins before the first one of the answer (before `from` or `to`, if there is none).',
    }),
  }),
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});

export type TokenCandles = Static<(typeof tokenCandlesEndpoint)['answer']>;

/** Trades of one answer. */
export const tradeLimits = { default: 50, max: 200 } as const;

export const tokenTradesEndpoint = defineEndpoint({
  ...tokenRead,
  id: 'tokenTrades',
  path: '/token/trades/{mint}',
  summary: 'Recent trades of one token, newest first, as on the stream.',
  params: mintParams,
  query: Closed({
    before: Type.Optional(
      Type.String({ minLength: 1, maxLength: 160, description: 'Return only trades older than this id: `next` of the previous answer.' }),
    ),
    limit: Limit('trades', tradeLimits),
  }),
  answer: Titled('tokenTrades', {
    mint: Address('Mint.'),
    trades: Type.Array(TradeEvent, { maxItems: tradeLimits.max }),
    next: Nullable(EventId(), 'Send it as `before` for the next, older trades; null if no older ones are stored.'),
  }),
  errors: ['INVALID_MINT', 'UPSTREAM_UNAVAILABLE'],
});
