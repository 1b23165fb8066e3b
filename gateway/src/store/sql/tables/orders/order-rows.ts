import { venueNames } from '@sluice/shared/wire/events/events.ts';
import { endStates, orderKinds, storedStates, type OrderFill, type OrderTerms, type StoredOrder } from '../../../order-model/order.ts';
import type { SpendReservation, StoredOrderEvent } from '../../../interfaces/order-table.ts';
import { blob, integer, integerOrNull, text, textOrNull, type SqlRow, type SqlValue } from '../../database.ts';
import { dayOf } from './order-spend.ts';

/** The columns of a new order. */
export function orderValues(
  order: StoredOrder,
  owner: string,
  followedBy: string,
  spend: SpendReservation | null,
): Readonly<Record<string, SqlValue>> {
  return {
    id: order.id,
    owner,
    kind: order.kind,
    key_id: order.keyId,
    account_id: order.accountId,
    genesis_hash: order.genesisHash,
    state: order.state,
    ended: endStates.has(order.state) ? 1 : 0,
    terms: termsText(order.terms),
    quote: order.quoteJson,
    signature: order.signature,
    signed_bytes: order.signedBytes,
    blockhash: order.blockhash,
    last_valid_block_height: order.lastValidBlockHeight,
    fill: fillText(order.fill),
    error_code: order.error?.code ?? null,
    error_message: order.error?.message ?? null,
    error_details: order.error?.detailsJson ?? null,
    timing: order.timingJson,
    created_at_ms: order.createdAtMs,
    updated_at_ms: order.updatedAtMs,
    version: order.version,
    followed_by: followedBy,
    spend_wallet: spend?.wallet ?? null,
    spend_day: spend === null ? null : dayOf(order.createdAtMs),
    spend_lamports: spend === null ? null : Number(spend.lamports),
  };
}

export function readOrder(row: SqlRow): StoredOrder {
  const id = text(row['id']);
  const kind = orderKinds.find((name) => name === row['kind']);
  const state = storedStates.find((name) => name === row['state']);
  if (kind === undefined || state === undefined)
    throw new Error(`order ${id} is stored with a kind or state that this version does not know`);
  const errorCode = textOrNull(row['error_code']);
  const terms = textOrNull(row['terms']);
  return {
    id,
    kind,
    keyId: text(row['key_id']),
    accountId: textOrNull(row['account_id']),
    genesisHash: textOrNull(row['genesis_hash']),
    state,
    terms: terms === null ? null : (JSON.parse(terms) as OrderTerms),
    quoteJson: textOrNull(row['quote']),
    signature: textOrNull(row['signature']),
    signedBytes: row['signed_bytes'] === null ? null : blob(row['signed_bytes']),
    blockhash: textOrNull(row['blockhash']),
    lastValidBlockHeight: integerOrNull(row['last_valid_block_height']),
    fill: readFill(id, textOrNull(row['fill'])),
    error: errorCode === null ? null : { code: errorCode, message: text(row['error_message']), detailsJson: text(row['error_details']) },
    timingJson: textOrNull(row['timing']),
    createdAtMs: integer(row['created_at_ms']),
    updatedAtMs: integer(row['updated_at_ms']),
    version: integer(row['version']),
  };
}

export function readOrderEvent(row: SqlRow): StoredOrderEvent {
  const state = storedStates.find((name) => name === row['state']);
  if (state === undefined) throw new Error('an event of an order is stored with a state that this version does not know');
  return {
    version: integer(row['version']),
    state,
    atMs: integer(row['at_ms']),
    changed: text(row['changed'])
      .split(',')
      .filter((name) => name !== ''),
  };
}

export function termsText(terms: OrderTerms | null): string | null {
  return terms === null ? null : JSON.stringify(terms);
}

/** Raw amounts as decimal strings. */
export function fillText(fill: OrderFill | null): string | null {
  return fill === null ? null : JSON.stringify(fill, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function readFill(id: string, stored: string | null): OrderFill | null {
  if (stored === null) return null;
  const values = JSON.parse(stored) as Readonly<Record<keyof OrderFill, unknown>>;
  const pool = venueNames.find((name) => name === values.pool);
  if (pool === undefined) throw new Error(`the fill of order ${id} is stored with a venue that this version does not know`);
  const raw = (name: keyof OrderFill): bigint => BigInt(text(values[name]));
  return {
    pool,
    baseAmount: raw('baseAmount'),
    quoteAmount: raw('quoteAmount'),
    traderQuote: raw('traderQuote'),
    venueFees: raw('venueFees'),
    networkFee: raw('networkFee'),
    otherLamports: raw('otherLamports'),
    slot: integer(values.slot),
    blockTime: integerOrNull(values.blockTime),
  };
}
