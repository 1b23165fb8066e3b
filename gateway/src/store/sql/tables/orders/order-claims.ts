import type { StoredOrder } from '../../../order-model/order.ts';
import { insertRow, text } from '../../columns.ts';
import type { Database, Sql } from '../../database.ts';
import { storedBeforeMs } from '../../running-hours.ts';
import { maxOrderRows, readOrder } from './order-rows.ts';
import { forgetSpend } from './order-spend.ts';

/** How long an `Idempotency-Key` is stored, in hours in which the store is in use; longer if its order is still open. */
export const idempotencyRetentionMs = 24 * 3_600_000;
/** How long an order is stored after it ended, in hours in which the store is in use. */
export const orderRetentionMs = 400 * 24 * 3_600_000;
/** Maximum number of orders, and of keys, that one `claim` deletes. */
const maxForgotten = 1_000;

/** A gateway and the chain of its nodes. It follows orders of that chain only. */
export interface FollowingGateway {
  readonly gatewayId: string;
  readonly genesisHash: string;
}

export interface FollowClaim extends FollowingGateway {
  readonly nowMs: number;
  /** Until this time no other gateway takes over its orders. */
  readonly untilMs: number;
  /** Maximum number of orders to claim. */
  readonly limit: number;
  /** The claims of all other gateways are treated as expired. */
  readonly fromAll?: boolean;
}

/**
 * Extends the claim of a gateway on its orders, and takes over open orders of its chain from gateways whose claims have expired,
 * oldest first; returns those. It compares times of several machines: if a clock is wrong by more than the length of a claim, two
 * gateways follow one order. That is wasted work but no harm, because both send the same message. Deletes what is past its
 * retention time, by the hours in which the store was in use.
 */
export function claimOrders(
  db: Database,
  { gatewayId, genesisHash, nowMs, untilMs, limit, fromAll = false }: FollowClaim,
): Promise<readonly StoredOrder[]> {
  return db.transaction('orders', async (sql) => {
    const extend = 'ON CONFLICT (gateway_id) DO UPDATE SET until_ms = excluded.until_ms';
    await insertRow(sql, 'order_followers', { gateway_id: gatewayId, until_ms: untilMs }, extend);
    // A claim that ends later than any new one came from a clock that ran ahead, and its gateway may have ended. It is treated as expired.
    const latestMs = untilMs + (untilMs - nowMs);
    if (fromAll) await sql.run('DELETE FROM order_followers WHERE gateway_id <> ?', gatewayId);
    else await sql.run('DELETE FROM order_followers WHERE until_ms <= ? OR until_ms > ?', nowMs, latestMs);
    const claimed: StoredOrder[] = [];
    for (const id of await unclaimedIds(sql, genesisHash, Math.min(limit, maxOrderRows))) {
      const row = await sql.get('UPDATE orders SET followed_by = ? WHERE id = ? AND ended = 0 RETURNING *', gatewayId, id);
      if (row !== null) claimed.push(readOrder(row));
    }
    await deleteExpired(sql);
    return claimed;
  });
}

/** Ids of open orders that no gateway follows, oldest first. Two queries, because SQLite would read all orders ever stored for a joined one. */
async function unclaimedIds(sql: Sql, genesisHash: string, limit: number): Promise<readonly string[]> {
  const gone = await sql.all(
    'SELECT DISTINCT followed_by FROM orders WHERE ended = 0 AND followed_by NOT IN (SELECT gateway_id FROM order_followers)',
  );
  const ids: string[] = [];
  for (const row of gone) {
    const open = 'SELECT id FROM orders WHERE ended = 0 AND followed_by = ? AND genesis_hash = ? ORDER BY id LIMIT ?';
    for (const { id } of await sql.all(open, text.read(row['followed_by']), genesisHash, limit)) ids.push(text.read(id));
  }
  return ids.toSorted().slice(0, limit);
}

/**
 * Deletes idempotency keys and orders after their retention time. The number for each call is limited, so that other transactions do
 * not wait long; it is still larger than the number of new ones.
 */
async function deleteExpired(sql: Sql): Promise<void> {
  const usedBeforeMs = await storedBeforeMs(sql, idempotencyRetentionMs);
  if (usedBeforeMs === null) return;
  await sql.run(
    `DELETE FROM order_keys WHERE used_at_ms < ? AND order_id IN
       (SELECT k.order_id FROM order_keys k JOIN orders o ON o.id = k.order_id
        WHERE k.used_at_ms < ? AND o.ended = 1 ORDER BY k.used_at_ms LIMIT ${maxForgotten})`,
    usedBeforeMs,
    usedBeforeMs,
  );
  await forgetSpend(sql);
  const endedBeforeMs = await storedBeforeMs(sql, orderRetentionMs);
  if (endedBeforeMs === null) return;
  await sql.run(
    `DELETE FROM orders WHERE ended = 1 AND id IN
       (SELECT id FROM orders WHERE ended = 1 AND updated_at_ms < ? ORDER BY updated_at_ms LIMIT ${maxForgotten})`,
    endedBeforeMs,
  );
}
