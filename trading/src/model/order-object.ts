import { errorTable, type ErrorCode } from '@sluice/shared/wire/errors.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import type { OrderEvent } from '@sluice/shared/wire/orders/orders.ts';
import type { OrderObject, OrderTiming } from '@sluice/shared/wire/rest/trading/trade.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import type { OrderFill, OrderState, OrderTerms, StoredOrder, PublishedOrder } from '@sluice/gateway/store/order-model/order.ts';

/** An order in the form that clients receive. */
export function orderObject(order: StoredOrder): OrderObject {
  return {
    orderId: order.id,
    ...orderFields(order),
    genesisHash: order.genesisHash,
    quote: order.quoteJson === null ? null : (JSON.parse(order.quoteJson) as QuoteObject),
    timing: order.timingJson === null ? null : (JSON.parse(order.timingJson) as OrderTiming),
  };
}

/** The stream event for a change of an order. `publishedUs`: Unix microseconds. */
export function orderEvent(order: PublishedOrder, publishedUs: number, simulated: boolean): OrderEvent {
  const { id, version, fill, updatedAtMs } = order;
  return {
    type: 'order',
    id: `${id}:${version}`,
    orderId: id,
    ...orderFields(order),
    slot: fill?.slot ?? null,
    blockTime: fill?.blockTime ?? null,
    commitment: commitmentOf(order.state),
    ts: { received: updatedAtMs * 1000, published: publishedUs },
    ...(simulated ? { simulated: true } : {}),
  };
}

function orderFields(order: PublishedOrder): Omit<OrderObject, 'orderId' | 'genesisHash' | 'quote' | 'timing'> {
  const { version, kind, state, terms, signature, lastValidBlockHeight, fill, createdAtMs, updatedAtMs } = order;
  return {
    version,
    kind,
    status: state,
    side: terms?.side ?? null,
    mint: terms?.mint ?? null,
    quoteMint: terms?.quoteMint ?? null,
    pool: terms?.pool ?? null,
    poolAddress: terms?.poolAddress ?? null,
    publicKey: terms?.publicKey ?? null,
    signature,
    lastValidBlockHeight,
    // The decimals of the coins are in the terms.
    fill: fill === null || terms === null ? null : fillObject(fill, terms),
    ...bundleIdIn(terms),
    error: errorObject(order),
    createdAtMs,
    updatedAtMs,
  };
}

/** The field `bundleId` of an order; no field if it is part of no bundle. */
export function bundleIdIn(terms: OrderTerms | null): { readonly bundleId?: string } {
  return terms?.bundle === undefined ? {} : { bundleId: terms.bundle.id };
}

function commitmentOf(state: OrderState): OrderEvent['commitment'] {
  return state === 'processed' || state === 'confirmed' || state === 'finalized' ? state : null;
}

function fillObject(fill: OrderFill, { baseDecimals, quoteDecimals }: OrderTerms): NonNullable<OrderObject['fill']> {
  const { baseAmount, quoteAmount, traderQuote, venueFees } = fill;
  const [base, paid] = [toUi(baseAmount, baseDecimals), toUi(traderQuote, quoteDecimals)];
  return {
    pool: fill.pool,
    baseAmount: String(baseAmount),
    baseDecimals,
    baseUiAmount: base,
    quoteAmount: String(quoteAmount),
    quoteDecimals,
    quoteUiAmount: toUi(quoteAmount, quoteDecimals),
    traderQuoteAmount: String(traderQuote),
    traderQuoteUiAmount: paid,
    venueFees: String(venueFees),
    venueFeesUi: toUi(venueFees, quoteDecimals),
    price: base === 0 ? 0 : paid / base,
    networkFee: String(fill.networkFee),
    otherLamports: String(fill.otherLamports),
    slot: fill.slot,
    blockTime: fill.blockTime,
  };
}

/** Why an order or a trigger failed. */
export function errorObject({ id, error }: Pick<PublishedOrder, 'id' | 'error'>): OrderObject['error'] {
  if (error === null) return null;
  const { code, message, detailsJson } = error;
  if (!Object.hasOwn(errorTable, code)) throw new Error(`${id} is stored with the error code ${code}, which this version does not have`);
  return { code: code as ErrorCode, message, details: JSON.parse(detailsJson) as Record<string, unknown> };
}
