import type { StoredOrder } from '../../trade/order.ts';
import { keepIdempotencyMs, keepOrdersMs, maxForgotten, maxOrderRows, type FollowClaim } from '../order-table.ts';
import type { Database, Sql } from './database.ts';
import { readOrder } from './order-rows.ts';
import { forgetSpend } from './order-spend.ts';

/** Holds what a gateway follows, and takes over what those followed whose hold has run out. */
export function claimOrders(db: Database, { gatewayId, genesisHash, nowMs, untilMs, limit }: FollowClaim): Promise<readonly StoredOrder[]> {
  return db.transaction('orders', async (sql) => {
    await sql.run(
      `INSERT INTO order_followers (gateway_id, until_ms) VALUES (?, ?)
       ON CONFLICT (gateway_id) DO UPDATE SET until_ms = excluded.until_ms`,
      gatewayId,
      untilMs,
    );
    // A hold that goes on for longer than any was made by a clock that ran ahead; whoever made it may be gone.
    const longestMs = untilMs + (untilMs - nowMs);
    await sql.run('DELETE FROM order_followers WHERE until_ms <= ? OR until_ms > ?', nowMs, longestMs);
    const left = await sql.all(
      `SELECT id FROM orders WHERE ended = 0 AND genesis_hash = ? AND followed_by NOT IN (SELECT gateway_id FROM order_followers)
       ORDER BY id LIMIT ?`,
      genesisHash,
      Math.min(limit, maxOrderRows),
    );
    const taken: StoredOrder[] = [];
    for (const { id } of left) {
      const row = await sql.get('UPDATE orders SET followed_by = ? WHERE id = ? AND ended = 0 RETURNING *', gatewayId, String(id));
      if (row !== null) taken.push(readOrder(row));
    }
    await forget(sql, nowMs);
    return taken;
  });
}

/** Keys and orders beyond what they are kept for, some at a time: more than come in, and never so many that others wait. */
async function forget(sql: Sql, nowMs: number): Promise<void> {
  await sql.run(
    `DELETE FROM order_keys WHERE used_at_ms <= ? AND order_id IN
       (SELECT k.order_id FROM order_keys k JOIN orders o ON o.id = k.order_id
        WHERE k.used_at_ms <= ? AND o.ended = 1 ORDER BY k.used_at_ms LIMIT ${maxForgotten})`,
    nowMs - keepIdempotencyMs,
    nowMs - keepIdempotencyMs,
  );
  await sql.run(
    `DELETE FROM orders WHERE ended = 1 AND id IN
       (SELECT id FROM orders WHERE ended = 1 AND updated_at_ms <= ? ORDER BY updated_at_ms LIMIT ${maxForgotten})`,
    nowMs - keepOrdersMs,
  );
  await forgetSpend(sql, nowMs);
}
