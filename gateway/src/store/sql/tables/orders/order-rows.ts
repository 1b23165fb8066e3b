import { venueNames } from '@sluice/shared/wire/events/events.ts';
import { endStates, orderKinds, storedStates, type OrderFill, type OrderTerms, type StoredOrder } from '../../../order-model/order.ts';
import { blob, integer, json, list, nullable, oneOf, Table, text, type Column } from '../../columns.ts';
import type { SqlRow, SqlValue } from '../../database.ts';

/** Maximum number of rows that one call reads, even if its `limit` is higher. */
export const maxOrderRows = 1_000;

/** As JSON, with raw amounts as decimal strings. */
const fillColumn: Column<OrderFill> = {
  read: (stored) => {
    const values = JSON.parse(text.read(stored)) as Readonly<Record<keyof OrderFill, unknown>>;
    const pool = venueNames.find((name) => name === values.pool);
    const raw = (name: keyof OrderFill): bigint => BigInt(text.read(values[name]));
    return (
      pool && {
        pool,
        baseAmount: raw('baseAmount'),
        quoteAmount: raw('quoteAmount'),
        traderQuote: raw('traderQuote'),
        venueFees: raw('venueFees'),
        networkFee: raw('networkFee'),
        otherLamports: raw('otherLamports'),
        slot: integer.read(values.slot),
        blockTime: values.blockTime === null ? null : integer.read(values.blockTime),
      }
    );
  },
  write: (fill) => JSON.stringify(fill, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
};

const orders = new Table<Omit<StoredOrder, 'error'>>('orders', {
  id: text,
  kind: oneOf(orderKinds),
  keyId: text,
  accountId: nullable(text),
  genesisHash: nullable(text),
  state: oneOf(storedStates),
  terms: nullable(json<OrderTerms>()),
  quoteJson: { ...nullable(text), name: 'quote' },
  signature: nullable(text),
  signedBytes: nullable(blob),
  blockhash: nullable(text),
  lastValidBlockHeight: nullable(integer),
  fill: nullable(fillColumn),
  timingJson: { ...nullable(text), name: 'timing' },
  createdAtMs: integer,
  updatedAtMs: integer,
  version: integer,
});
const errors = new Table('orders', {
  code: { ...text, name: 'error_code' },
  message: { ...text, name: 'error_message' },
  detailsJson: { ...text, name: 'error_details' },
});
const noError = { error_code: null, error_message: null, error_details: null };

/** The values of columns of an order that is inserted or changed. */
export function orderValues(order: Partial<StoredOrder> & Pick<StoredOrder, 'state' | 'error'>): Readonly<Record<string, SqlValue>> {
  const ended = Number(endStates.has(order.state));
  return { ...orders.write(order), ended, ...(order.error === null ? noError : errors.write(order.error)) };
}

export function readOrder(row: SqlRow): StoredOrder {
  return { ...orders.read(row), error: row['error_code'] === null ? null : errors.read(row) };
}

/** Every change of an order. Events are never modified. */
export const orderEvents = new Table('order_events', {
  version: integer,
  state: oneOf(storedStates),
  atMs: integer,
  /** What was set in addition to the state: `signed`, `fill`, `error`, `timing`. */
  changed: list,
});
