import { randomBytes } from 'node:crypto';
import type { OrderState as PublicOrderState } from '@sluice/shared/wire/orders/orders.ts';
import { isSameRequest, ownerOf } from '../../../order-model/order.ts';
import type { IdempotencyUse, NewOrder, OpenOrder, OrderChange, StoredOrder } from '../../../order-model/order.ts';
import { mayInsert, mayBecome } from '../../../order-model/life.ts';
import { blob, insertRow, integer, text } from '../../columns.ts';
import type { Database, Sql, SqlRow, SqlValue } from '../../database.ts';
import { claimOrders, type FollowClaim, type FollowingGateway } from './order-claims.ts';
import { maxOrderRows, orderEvents, orderValues, readOrder } from './order-rows.ts';
import { releaseSpend, reservations, reservedValues, reserveSpend, spentLamports } from './order-spend.ts';
import type { OverDayLimit, SpendReservation } from './order-spend.ts';
import { holdTerm } from './term-fence.ts';
import { movePaper, paperLock, type PaperMovement, type PaperRefusal } from './paper.ts';

export interface OrderInsert {
  readonly idempotency: IdempotencyUse | null;
  readonly spend: SpendReservation | null;
  /** For an order on paper: how it changes the balance of its wallet. */
  readonly paper?: PaperMovement;
  /** The gateway that follows the order to its end. */
  readonly followedBy: string;
}

/**
 * What is known about an `Idempotency-Key`. `fresh`: unused. `replay`: it has an order. `mismatch`: it was used with a different request.
 */
export type IdempotencyOutcome =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'replay'; readonly order: StoredOrder }
  | { readonly kind: 'mismatch' };

/**
 * All outcomes but `stored` stored nothing. `fenced`: the term of its trigger is over. `known`: the owner already has an order with this signature; for an order of kind
 * `lightning`, any owner's order of that kind counts.
 */
export type InsertOutcome =
  | { readonly kind: 'stored'; readonly order: StoredOrder }
  | { readonly kind: 'known'; readonly order: StoredOrder }
  | Exclude<IdempotencyOutcome, { kind: 'fresh' }>
  | PaperRefusal
  | OverDayLimit
  | { readonly kind: 'fenced' };

/** `refused`: none was stored, because of the order at `index`. */
export type InsertAllOutcome =
  | { readonly kind: 'stored'; readonly orders: readonly StoredOrder[] }
  | { readonly kind: 'refused'; readonly index: number; readonly outcome: Exclude<InsertOutcome, { kind: 'stored' }> };

export type OrderToInsert = readonly [order: NewOrder, with_: OrderInsert];

export interface Advance {
  /** The stored order that the change was computed from. Values that do not change are taken from it without reading them again. */
  readonly order: OpenOrder;
  readonly change: OrderChange;
  readonly atMs: number;
}

/** `stale`: the stored order was changed meanwhile; `order` is the current one. */
export type AdvanceOutcome = { readonly kind: 'advanced' | 'stale'; readonly order: OpenOrder } | { readonly kind: 'no_such_order' };

interface OrderPage {
  readonly owner: string;
  /** Id of an order: the page holds only older ones. Null: from the newest. */
  readonly before: string | null;
  readonly state: PublicOrderState | null;
  readonly limit: number;
}

/** Maximum number of changes of one `advanceAll`. */
export const maxAdvances = 1_000;

export type OrderTable = ReturnType<typeof orderTable>;

/** The stored orders. Each change is atomic, and durable (even after a power failure) once its call has resolved. */
export function orderTable(db: Database) {
  const list = async (statement: string, ...values: readonly SqlValue[]): Promise<readonly StoredOrder[]> =>
    (await db.all(statement, ...values)).map(readOrder);
  return {
    /** Reads what is known about an `Idempotency-Key`. Stores nothing. A key is used until it is deleted. No clock decides. */
    lookUp: (owner: string, use: IdempotencyUse) => lookUp(db, owner, use),
    /**
     * Stores an order, its `Idempotency-Key`, its reservation and its change of a paper balance in one transaction. Of several inserts with the same key, by all
     * gateways together, one succeeds. Throws RangeError if no order of this kind may begin in this state.
     */
    insert: (order: NewOrder, with_: OrderInsert) => insert(db, order, with_),
    /** Stores several orders like `insert`, in this order and in one transaction: all of them, or none. */
    insertAll: (all: readonly OrderToInsert[]) => insertAll(db, all),
    /**
     * Changes each of these orders that still has the given version, in one transaction; if it throws, none is changed. If an order ends
     * without a trade (`expired` or `failed`), its reservation is released; the fee of a failed one is still counted by the signing
     * process. At most `maxAdvances`. Throws RangeError for a change of state that `mayBecome` does not allow.
     */
    advanceAll: (advances: readonly Advance[]) => advanceAll(db, advances),
    byId: (id: string) => orderById(db, id),
    /** Oldest first; at most one per owner. */
    bySignature: (signature: string) => list(`SELECT * FROM orders WHERE signature = ? ORDER BY id LIMIT ${maxOrderRows}`, signature),
    /** Newest first. */
    page: ({ owner, before, state, limit }: OrderPage) =>
      list(
        `SELECT * FROM orders WHERE owner = ? ${before === null ? '' : 'AND id < ?'} ${state === null ? '' : 'AND state = ?'}
         ORDER BY id DESC LIMIT ?`,
        ...[owner, before, state].filter((value) => value !== null),
        Math.min(limit, maxOrderRows),
      ),
    /** Every change of an order, oldest first. */
    events: (id: string) => orderEvents.all(db, 'WHERE order_id = ? ORDER BY version', id),
    /** Open orders that the gateway follows, in order of id, after the id `after` (null: from the first). */
    openOf: async (...where: OpenOrders) => (await openRows(db, '*', ...where)).map(readOrder),
    /** As `openOf`, without reading whole orders. */
    openIdsOf: async (...where: OpenOrders) =>
      (await openRows(db, 'id, created_at_ms', ...where)).map((row) => ({
        id: text.read(row['id']),
        createdAtMs: integer.read(row['created_at_ms']),
      })),
    /** Open orders whose chain is another one or unknown, and that no other gateway follows, in order of id, after the id `after`. */
    openElsewhere: (...[{ gatewayId, genesisHash }, after, limit]: OpenOrders) =>
      list(
        `SELECT * FROM orders WHERE ended = 0 AND (genesis_hash IS NULL OR genesis_hash <> ?) AND id > ?
           AND (followed_by = ? OR followed_by NOT IN (SELECT gateway_id FROM order_followers)) ORDER BY id LIMIT ?`,
        genesisHash,
        after ?? '',
        gatewayId,
        Math.min(limit, maxOrderRows),
      ),
    claim: (claim: FollowClaim) => claimOrders(db, claim),
    /** Ends the gateway's claim, so that others can take over its orders at once. */
    release: async (gatewayId: string): Promise<void> => void (await db.run('DELETE FROM order_followers WHERE gateway_id = ?', gatewayId)),
    /** Writes and replaces a value that nobody reads and that is larger than an order. If it resolves, the store has space for an order. */
    probe: () => probe(db),
    /** The sum of a wallet's reservations on the day (UTC) that contains `atMs`, and on later days: those came from a wrong clock. */
    spentLamports: (wallet: string, atMs: number) => spentLamports(db, wallet, atMs),
  };
}

type OpenOrders = [gateway: FollowingGateway, after: string | null, limit: number];

/** An order changes about ten pages of 4 KiB. */
const probeBytes = 64 * 1024;

/** The bytes are random, because SQLite does not write a page that does not change, and PostgreSQL compresses. */
async function probe(db: Database): Promise<void> {
  const values = { name: 'space for an order', value: randomBytes(probeBytes) };
  await insertRow(db, 'checks', values, 'ON CONFLICT (name) DO UPDATE SET value = excluded.value');
}

function openRows(sql: Sql, columns: string, ...[{ gatewayId, genesisHash }, after, limit]: OpenOrders): Promise<readonly SqlRow[]> {
  const open = `SELECT ${columns} FROM orders WHERE ended = 0 AND followed_by = ? AND id > ? AND genesis_hash = ? ORDER BY id LIMIT ?`;
  return sql.all(open, gatewayId, after ?? '', genesisHash, Math.min(limit, maxOrderRows));
}

function compare(a: Advance, b: Advance): number {
  return a.order.id < b.order.id ? -1 : a.order.id > b.order.id ? 1 : a.order.version - b.order.version;
}

async function orderById(sql: Sql, id: string): Promise<StoredOrder | null> {
  const row = await sql.get('SELECT * FROM orders WHERE id = ?', id);
  return row === null ? null : readOrder(row);
}

/** An order of a request for several also needs that the key of the request was not used for another one. */
async function lookUp(sql: Sql, owner: string, use: IdempotencyUse): Promise<IdempotencyOutcome> {
  const { requestKey } = use;
  if (requestKey === undefined) return lookUpKey(sql, owner, use);
  const whole = await lookUpKey(sql, owner, { ...use, key: requestKey });
  return whole.kind === 'mismatch' ? whole : lookUpKey(sql, owner, use);
}

async function lookUpKey(sql: Sql, owner: string, use: IdempotencyUse): Promise<IdempotencyOutcome> {
  // One row, or more than one if a gateway of version 0.1.0 wrote them: there, a key could be used once at each endpoint.
  const ofKey = `SELECT o.*, k.endpoint, k.fingerprint FROM order_keys k JOIN orders o ON o.id = k.order_id
                 WHERE k.owner = ? AND k.idempotency_key = ?`;
  const rows = await sql.all(ofKey, owner, use.key);
  if (rows.length === 0) return { kind: 'fresh' };
  const used = rows.find((row) => isSameRequest({ endpoint: text.read(row['endpoint']), fingerprint: blob.read(row['fingerprint']) }, use));
  return used === undefined ? { kind: 'mismatch' } : { kind: 'replay', order: readOrder(used) };
}

/** Rolls back an insert whose id or signature another transaction has just stored. */
class InsertConflict extends Error {}

/** Rolls back all inserts of a transaction. */
class NotAllStored extends Error {
  readonly refused: Extract<InsertAllOutcome, { kind: 'refused' }>;

  constructor(refused: NotAllStored['refused']) {
    super(`order ${refused.index} is not stored: ${refused.outcome.kind}`);
    this.refused = refused;
  }
}

async function insert(db: Database, order: NewOrder, with_: OrderInsert): Promise<InsertOutcome> {
  return conflictFree(() => db.transaction('orders', (sql) => insertWithin(sql, order, with_), ...locksOf([order, with_])));
}

async function insertAll(db: Database, all: readonly OrderToInsert[]): Promise<InsertAllOutcome> {
  const within = async (sql: Sql): Promise<InsertAllOutcome> => {
    const orders: StoredOrder[] = [];
    for (const [index, one] of all.entries()) {
      const outcome = await insertWithin(sql, ...one);
      if (outcome.kind !== 'stored') throw new NotAllStored({ kind: 'refused', index, outcome });
      orders.push(outcome.order);
    }
    return { kind: 'stored', orders };
  };
  try {
    return await conflictFree(() => db.transaction('orders', within, ...all.flatMap(locksOf)));
  } catch (error) {
    if (!(error instanceof NotAllStored)) throw error;
    return error.refused;
  }
}

async function conflictFree<T>(once: () => Promise<T>): Promise<T> {
  try {
    return await once();
  } catch (error) {
    if (!(error instanceof InsertConflict)) throw error;
    // Another order was stored between our lookup and our insert. The second lookup finds it.
    return once();
  }
}

function locksOf([order, { idempotency, paper }]: OrderToInsert): readonly string[] {
  return [
    ...(idempotency === null ? [order.id] : lockKeys(ownerOf(order), idempotency)),
    ...(paper === undefined ? [] : [paperLock(paper.wallet)]),
  ];
}

/** The second one is that of version 0.1.0, whose gateways may still run. */
function lockKeys(owner: string, { endpoint, key, requestKey }: IdempotencyUse): readonly string[] {
  const whole = requestKey === undefined ? [] : [JSON.stringify([owner, requestKey])];
  return [...whole, JSON.stringify([owner, key]), JSON.stringify([owner, endpoint, key])];
}

async function insertWithin(sql: Sql, order: NewOrder, with_: OrderInsert): Promise<InsertOutcome> {
  if (!mayInsert(order)) throw new RangeError(`an order of kind ${order.kind} cannot be inserted in the state ${order.state}`);
  const owner = ownerOf(order);
  const { idempotency, spend, paper, followedBy } = with_;
  const { signature, createdAtMs } = order;
  if (idempotency?.triggerTerm !== undefined && !(await holdTerm(sql, idempotency.triggerTerm))) return { kind: 'fenced' };
  if (idempotency !== null) {
    const found = await lookUp(sql, owner, idempotency);
    if (found.kind !== 'fresh') return found;
  }
  if (signature !== null) {
    // Two owners may trade with one wallet and produce the same bytes. A message that we built belongs to one order of one owner.
    const sameMessage = order.kind === 'lightning' ? `(owner = ? OR kind = 'lightning')` : 'owner = ?';
    const row = await sql.get(`SELECT * FROM orders WHERE signature = ? AND ${sameMessage} ORDER BY id LIMIT 1`, signature, owner);
    if (row !== null) return { kind: 'known', order: readOrder(row) };
  }
  if (spend !== null) {
    const over = await reserveSpend(sql, spend, createdAtMs);
    if (over !== null) return over;
  }
  if (paper !== undefined) {
    const refused = await movePaper(sql, paper, createdAtMs);
    if (refused !== null) return refused;
  }
  const stored: StoredOrder = { ...order, updatedAtMs: createdAtMs, version: 1 };
  const values = { ...orderValues(stored), owner, followed_by: followedBy, ...reservedValues(spend, createdAtMs) };
  if ((await insertRow(sql, 'orders', values, 'ON CONFLICT DO NOTHING')) === 0)
    throw new InsertConflict(`order ${order.id}, or its signature, is stored already`);
  await addEvent(sql, stored, namesOf({ signed: order.signature, fill: order.fill, error: order.error, timing: order.timingJson }));
  if (idempotency !== null) await addKey(sql, owner, idempotency, stored);
  return { kind: 'stored', order: stored };
}

/** The key of a request for several belongs to the first of its orders that is stored. */
async function addKey(
  sql: Sql,
  owner: string,
  { endpoint, key, fingerprint, requestKey }: IdempotencyUse,
  { id, createdAtMs }: StoredOrder,
): Promise<void> {
  const values = { owner, endpoint, fingerprint, order_id: id, used_at_ms: createdAtMs };
  await insertRow(sql, 'order_keys', { ...values, idempotency_key: key });
  if (requestKey !== undefined) await insertRow(sql, 'order_keys', { ...values, idempotency_key: requestKey }, 'ON CONFLICT DO NOTHING');
}

async function addEvent(sql: Sql, { id, version, state, updatedAtMs }: OpenOrder, changed: readonly string[]): Promise<void> {
  await insertRow(sql, 'order_events', { order_id: id, ...orderEvents.write({ version, state, atMs: updatedAtMs, changed }) });
}

async function advanceAll(db: Database, advances: readonly Advance[]): Promise<readonly AdvanceOutcome[]> {
  if (advances.length > maxAdvances) throw new RangeError(`at most ${maxAdvances} changes at once`);
  if (advances.length === 0) return [];
  // Updates the orders in a fixed order, and the sums of wallets last, so that two transactions cannot deadlock.
  const sorted = advances.map((advance, index) => ({ advance, index })).sort((a, b) => compare(a.advance, b.advance));
  return db.transaction('orders', (sql) => advanceInOrder(sql, sorted), sorted[0]!.advance.order.id);
}

async function advanceInOrder(
  sql: Sql,
  sorted: readonly { readonly advance: Advance; readonly index: number }[],
): Promise<readonly AdvanceOutcome[]> {
  const outcomes: AdvanceOutcome[] = [];
  const released: SqlRow[] = [];
  for (const { advance, index } of sorted) outcomes[index] = await advanceOne(sql, advance, released);
  await releaseSpend(
    sql,
    released.map((row) => reservations.read(row)),
  );
  return outcomes;
}

/** Reads the stored order only if the update finds another version. Usually it does not. */
async function advanceOne(sql: Sql, { order: before, change, atMs }: Advance, released: SqlRow[]): Promise<AdvanceOutcome> {
  const { id } = before;
  const after = changedOrder(before, change, atMs);
  const { state, error, fill, terms, updatedAtMs, version } = after;
  const values = orderValues({ state, error, fill, updatedAtMs, version, ...(change.terms !== undefined && { terms }) });
  const set = Object.keys(values).map((name) => `${name} = ?`);
  const update = `UPDATE orders SET ${set.join(', ')} WHERE id = ? AND version = ?`;
  const updated = await sql.run(update, ...Object.values(values), id, before.version);
  if (updated === 0) {
    const current = await orderById(sql, id);
    return current === null ? { kind: 'no_such_order' } : { kind: 'stale', order: current };
  }
  await addEvent(sql, after, namesOf({ fill: change.fill, error: change.error }));
  if (before.state !== after.state && (after.state === 'failed' || after.state === 'expired')) {
    const row = await sql.get('SELECT spend_wallet, spend_day, spend_lamports FROM orders WHERE id = ?', id);
    if (row !== null) released.push(row);
  }
  return { kind: 'advanced', order: after };
}

/** The names of the parts that are neither null nor undefined. */
function namesOf(parts: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(parts).filter((name) => (parts[name] ?? null) !== null);
}

/** Throws RangeError if the change of state is not allowed. */
function changedOrder(before: OpenOrder, change: OrderChange, atMs: number): OpenOrder {
  const { state } = change;
  if (state !== undefined && !mayBecome(before.state, state)) {
    throw new RangeError(`order ${before.id} cannot go from ${before.state} to ${state}`);
  }
  return { ...before, ...change, updatedAtMs: Math.max(atMs, before.updatedAtMs), version: before.version + 1 };
}
