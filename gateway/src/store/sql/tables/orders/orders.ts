import { randomBytes } from 'node:crypto';
import { mayInsert, mayBecome } from '../../../order-model/life.ts';
import { endStates, type OpenOrder, type StoredOrder } from '../../../order-model/order.ts';
import {
  maxAdvances,
  maxOrderRows,
  type Advance,
  type AdvanceOutcome,
  type FollowingGateway,
  type IdempotencyOutcome,
  type InsertOutcome,
  type OrderInsert,
  type OrderTable,
} from '../../../interfaces/order-table.ts';
import { ownerOf } from '../../../order-model/owner.ts';
import { isSameRequest, type IdempotencyUse } from '../../../order-model/idempotency.ts';
import type { NewOrder, OrderChange } from '../../../order-model/order.ts';
import { blob, integer, text, type Database, type Sql, type SqlRow } from '../../database.ts';
import { movePaper, paperLock } from './paper.ts';
import { claimOrders } from './order-claims.ts';
import { orderValues, readOrder, readOrderEvent, fillText, termsText } from './order-rows.ts';
import { releaseSpend, reserveSpend, reservedOf, spentLamports } from './order-spend.ts';

export function orderTable(db: Database): OrderTable {
  const list = async (statement: string, ...values: readonly (string | number)[]): Promise<readonly StoredOrder[]> =>
    (await db.all(statement, ...values)).map(readOrder);
  return {
    lookUp: (owner, use) => lookUp(db, owner, use),
    insert: (order, with_) => insert(db, order, with_),
    advanceAll: (advances) => advanceAll(db, advances),
    byId: (id) => orderById(db, id),
    bySignature: (signature) => list(`SELECT * FROM orders WHERE signature = ? ORDER BY id LIMIT ${maxOrderRows}`, signature),
    page: ({ owner, before, state, limit }) =>
      list(
        `SELECT * FROM orders WHERE owner = ? ${before === null ? '' : 'AND id < ?'} ${state === null ? '' : 'AND state = ?'}
         ORDER BY id DESC LIMIT ?`,
        owner,
        ...(before === null ? [] : [before]),
        ...(state === null ? [] : [state]),
        Math.min(limit, maxOrderRows),
      ),
    events: async (id) => (await db.all('SELECT * FROM order_events WHERE order_id = ? ORDER BY version', id)).map(readOrderEvent),
    openOf: async (...where) => (await openRows(db, '*', ...where)).map(readOrder),
    openIdsOf: async (...where) =>
      (await openRows(db, 'id, created_at_ms', ...where)).map((row) => ({
        id: text(row['id']),
        createdAtMs: integer(row['created_at_ms']),
      })),
    openElsewhere: ({ gatewayId, genesisHash }, after, limit) =>
      list(
        `SELECT * FROM orders WHERE ended = 0 AND (genesis_hash IS NULL OR genesis_hash <> ?) AND id > ?
           AND (followed_by = ? OR followed_by NOT IN (SELECT gateway_id FROM order_followers)) ORDER BY id LIMIT ?`,
        genesisHash,
        after ?? '',
        gatewayId,
        Math.min(limit, maxOrderRows),
      ),
    claim: (claim) => claimOrders(db, claim),
    release: async (gatewayId) => void (await db.run('DELETE FROM order_followers WHERE gateway_id = ?', gatewayId)),
    spentLamports: (wallet, atMs) => spentLamports(db, wallet, atMs),
    probe: () => probe(db),
  };
}

/** An order changes about ten pages of 4 KiB. */
const probeBytes = 64 * 1024;

/** The bytes are random, because SQLite does not write a page that does not change, and PostgreSQL compresses. */
async function probe(db: Database): Promise<void> {
  const write = 'INSERT INTO checks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
  await db.run(write, 'space for an order', randomBytes(probeBytes));
}

async function openRows(
  sql: Sql,
  columns: string,
  { gatewayId, genesisHash }: FollowingGateway,
  after: string | null,
  limit: number,
): Promise<readonly SqlRow[]> {
  return await sql.all(
    `SELECT ${columns} FROM orders WHERE ended = 0 AND followed_by = ? AND id > ? AND genesis_hash = ? ORDER BY id LIMIT ?`,
    gatewayId,
    after ?? '',
    genesisHash,
    Math.min(limit, maxOrderRows),
  );
}

function compare(a: Advance, b: Advance): number {
  return a.order.id < b.order.id ? -1 : a.order.id > b.order.id ? 1 : a.order.version - b.order.version;
}

async function orderById(sql: Sql, id: string): Promise<StoredOrder | null> {
  const row = await sql.get('SELECT * FROM orders WHERE id = ?', id);
  return row === null ? null : readOrder(row);
}

async function lookUp(sql: Sql, owner: string, use: IdempotencyUse): Promise<IdempotencyOutcome> {
  // One row, or more than one if a gateway of version 0.1.0 wrote them: there, a key could be used once at each endpoint.
  const rows = await sql.all(
    `SELECT o.*, k.endpoint, k.fingerprint FROM order_keys k JOIN orders o ON o.id = k.order_id
     WHERE k.owner = ? AND k.idempotency_key = ?`,
    owner,
    use.key,
  );
  if (rows.length === 0) return { kind: 'fresh' };
  const used = rows.find((row) => isSameRequest({ endpoint: text(row['endpoint']), fingerprint: blob(row['fingerprint']) }, use));
  return used === undefined ? { kind: 'mismatch' } : { kind: 'replay', order: readOrder(used) };
}

/** Rolls back an insert whose id or signature another transaction has just stored. */
class InsertConflict extends Error {}

async function insert(db: Database, order: NewOrder, with_: OrderInsert): Promise<InsertOutcome> {
  if (!mayInsert(order)) throw new RangeError(`an order of kind ${order.kind} cannot be inserted in the state ${order.state}`);
  const owner = ownerOf(order);
  const { idempotency } = with_;
  const locks = [
    ...(idempotency === null ? [order.id] : lockKeys(owner, idempotency)),
    ...(with_.paper === undefined ? [] : [paperLock(with_.paper.wallet)]),
  ];
  const once = (): Promise<InsertOutcome> => db.transaction('orders', (sql) => insertWithin(sql, owner, order, with_), ...locks);
  try {
    return await once();
  } catch (error) {
    if (!(error instanceof InsertConflict)) throw error;
    // Another order was stored between our lookup and our insert. The second lookup finds it.
    return once();
  }
}

/** The second one is that of version 0.1.0, whose gateways may still run. */
function lockKeys(owner: string, { endpoint, key }: IdempotencyUse): readonly string[] {
  return [JSON.stringify([owner, key]), JSON.stringify([owner, endpoint, key])];
}

async function insertWithin(sql: Sql, owner: string, order: NewOrder, with_: OrderInsert): Promise<InsertOutcome> {
  const { idempotency, spend, paper, followedBy } = with_;
  const { signature, createdAtMs } = order;
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
  const { id, ...fields } = order;
  const stored: StoredOrder = { id, ...fields, updatedAtMs: createdAtMs, version: 1 };
  const columns = orderValues(stored, owner, followedBy, spend);
  const names = Object.keys(columns);
  const inserted = await sql.run(
    `INSERT INTO orders (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ON CONFLICT DO NOTHING`,
    ...Object.values(columns),
  );
  if (inserted === 0) throw new InsertConflict(`order ${order.id}, or its signature, is stored already`);
  await addEvent(sql, stored, namesOf({ signed: order.signature, fill: order.fill, error: order.error, timing: order.timingJson }));
  if (idempotency !== null) await addKey(sql, owner, idempotency, stored);
  return { kind: 'stored', order: stored };
}

async function addKey(sql: Sql, owner: string, { endpoint, key, fingerprint }: IdempotencyUse, order: StoredOrder): Promise<void> {
  await sql.run(
    `INSERT INTO order_keys (owner, endpoint, idempotency_key, fingerprint, order_id, used_at_ms) VALUES (?, ?, ?, ?, ?, ?)`,
    owner,
    endpoint,
    key,
    fingerprint,
    order.id,
    order.createdAtMs,
  );
}

async function addEvent(sql: Sql, { id, version, state, updatedAtMs }: OpenOrder, changed: readonly string[]): Promise<void> {
  await sql.run(
    'INSERT INTO order_events (order_id, version, state, at_ms, changed) VALUES (?, ?, ?, ?, ?)',
    id,
    version,
    state,
    updatedAtMs,
    changed.join(','),
  );
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
  await releaseSpend(sql, released.map(reservedOf));
  return outcomes;
}

/** Reads the stored order only if the update finds another version. Usually it does not. */
async function advanceOne(sql: Sql, { order: before, change, atMs }: Advance, released: SqlRow[]): Promise<AdvanceOutcome> {
  const { id } = before;
  const after = changedOrder(before, change, atMs);
  const updated = await sql.run(
    `UPDATE orders SET state = ?, ended = ?, fill = ?, error_code = ?, error_message = ?, error_details = ?, updated_at_ms = ?, version = ?
     WHERE id = ? AND version = ?`,
    after.state,
    endStates.has(after.state) ? 1 : 0,
    fillText(after.fill),
    after.error?.code ?? null,
    after.error?.message ?? null,
    after.error?.detailsJson ?? null,
    after.updatedAtMs,
    after.version,
    id,
    before.version,
  );
  if (updated === 0) {
    const current = await orderById(sql, id);
    return current === null ? { kind: 'no_such_order' } : { kind: 'stale', order: current };
  }
  if (change.terms !== undefined) await sql.run('UPDATE orders SET terms = ? WHERE id = ?', termsText(after.terms), id);
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
