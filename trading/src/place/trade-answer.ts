import type { OrderTiming, TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import { quoteOfOrder } from '../quote/answer.ts';
import { bundleIdIn, orderObject } from '../model/order-object.ts';
import type { IdempotencyUse, OrderTerms, Owner, StoredOrder, NewOrder, SignedMessage } from '@sluice/gateway/store/order-model/order.ts';
import type { PreparedTrade } from '../prepare/prepare.ts';
import type { TradeRequest } from '../prepare/request.ts';

/** A request that passed the checks that need no quote. */
export interface Admitted {
  readonly owner: Owner;
  readonly request: TradeRequest;
  readonly use: IdempotencyUse | null;
  /** Genesis hash of the chain that the order is made on. */
  readonly genesisHash: string;
  readonly startedMs: number;
}

/** The order of a trade as it is stored. */
export function newOrderOf(
  { owner, request, genesisHash }: Admitted,
  prepared: PreparedTrade,
  {
    message,
    ...fields
  }: Pick<NewOrder, 'id' | 'state' | 'kind' | 'fill' | 'timingJson' | 'createdAtMs'> & { message: SignedMessage | null },
): NewOrder {
  return {
    keyId: owner.keyId,
    accountId: owner.accountId,
    genesisHash,
    terms: orderTerms(request, prepared),
    quoteJson: JSON.stringify(tradedQuote(request, prepared)),
    error: null,
    ...(message ?? noMessage),
    ...fields,
  };
}

const noMessage = { signature: null, signedBytes: null, blockhash: null, lastValidBlockHeight: null };

type TradeOutcome = Pick<TradeAnswer, 'orderId' | 'status' | 'signature' | 'simulation' | 'dryRun' | 'paper' | 'timing'> & {
  readonly lastValidBlockHeight?: number;
};

/** The quote of the prepared trade, with the bounds in its message. */
export function tradedQuote({ order }: TradeRequest, { quoted, bounds, tipLamports }: PreparedTrade): QuoteObject {
  return quoteOfOrder(order, quoted, { bounds, tipLamports });
}

export function orderTerms(
  { order: { side, mint }, publicKey, blockEngineOnly }: TradeRequest,
  { quoted }: Pick<PreparedTrade, 'quoted'>,
): OrderTerms {
  const { venue, pool, market, quoteDecimals } = quoted;
  return {
    side,
    mint,
    pool: venue.name,
    poolAddress: pool.address,
    quoteMint: pool.quoteMint,
    baseDecimals: market.decimals,
    quoteDecimals,
    publicKey,
    ...(blockEngineOnly === true ? { blockEngineOnly } : {}),
  };
}

/** What is traded, where and for whom: fields of every answer about a trade. */
export function termsJson({ side, mint, pool, poolAddress, quoteMint, publicKey }: OrderTerms) {
  return { side, mint, pool, poolAddress, quoteMint, publicKey };
}

/** The answer for a trade of this request. */
export function tradeAnswer(request: TradeRequest, prepared: PreparedTrade, outcome: TradeOutcome): TradeAnswer {
  const { orderId, lastValidBlockHeight = null, timing, ...rest } = outcome;
  return {
    orderId,
    ...rest,
    ...termsJson(orderTerms(request, prepared)),
    quote: tradedQuote(request, prepared),
    lastValidBlockHeight,
    error: null,
    timing: rounded(timing),
  };
}

/** The answer for an order of an earlier request, in its current state. Null if the order is not a quoted trade. */
export function replayedTrade(order: StoredOrder, totalMs: number): TradeAnswer | null {
  const { orderId, status, signature, lastValidBlockHeight, quote, timing, error } = orderObject(order);
  const { terms } = order;
  if (terms === null || quote === null) return null;
  return {
    orderId,
    status,
    signature,
    ...termsJson(terms),
    ...bundleIdIn(terms),
    quote,
    lastValidBlockHeight,
    simulation: null,
    error,
    ...(order.kind === 'paper' ? { paper: true } : {}),
    timing: rounded(timing ?? { totalMs }),
  };
}

const steps = ['quoteMs', 'buildMs', 'simulateMs', 'signMs', 'storeMs', 'sendMs'] as const;

/** Rounds to microseconds. The steps are in the order in which they happen. */
export function rounded(timing: OrderTiming): OrderTiming {
  const result: { -readonly [step in keyof OrderTiming]: OrderTiming[step] } = { totalMs: inMicroseconds(timing.totalMs) };
  for (const step of steps) {
    const ms = timing[step];
    if (ms !== undefined) result[step] = inMicroseconds(ms);
  }
  return result;
}

function inMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
