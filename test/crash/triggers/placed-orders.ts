import type { StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { CrashWorld } from '../crash-world.ts';

/** An order of a trigger, by its idempotency key. */
export interface PlacedOrder {
  readonly firing: number;
  readonly attempt: number;
  readonly order: StoredOrder;
}

/** The orders of each trigger: `trg:<trigger>:<firing>:<attempt>`. */
export async function ordersOfTriggers(
  { db }: CrashWorld,
  orders: readonly StoredOrder[],
): Promise<ReadonlyMap<string, readonly PlacedOrder[]>> {
  const placed = new Map<string, PlacedOrder[]>();
  const byId = new Map(orders.map((order) => [order.id, order]));
  for (const row of await db.all(`SELECT idempotency_key, order_id FROM order_keys WHERE idempotency_key LIKE 'trg:%'`)) {
    const [, trigger = '', firing, attempt] = String(row['idempotency_key']).split(':');
    const order = byId.get(String(row['order_id']));
    if (order === undefined) throw new Error(`${String(row['order_id'])} has a key, and is not stored`);
    placed.set(trigger, [...(placed.get(trigger) ?? []), { firing: Number(firing), attempt: Number(attempt), order }]);
  }
  for (const all of placed.values()) all.sort((a, b) => a.firing - b.firing || a.attempt - b.attempt);
  return placed;
}
