import { isSameRequest, type IdempotencyUse } from '../../../order-model/order.ts';
import type { StoredTrigger } from '../../../trigger-model/trigger.ts';
import { blob, insertRow, text } from '../../columns.ts';
import type { Sql } from '../../database.ts';
import { storedBeforeMs } from '../../running-hours.ts';
import { idempotencyRetentionMs, orderRetentionMs } from '../orders/order-claims.ts';
import { readTrigger } from './trigger-rows.ts';

/** Maximum number of triggers, and of keys, that one insert deletes. More than it adds, so that the tables do not grow for ever. */
const maxForgotten = 200;

/** What is known about an `Idempotency-Key`. `fresh`: unused. `replay`: it armed this trigger. `mismatch`: it was used with another request. */
export type TriggerKeyOutcome =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'replay'; readonly trigger: StoredTrigger }
  | { readonly kind: 'mismatch' };

export async function lookUpKey(sql: Sql, owner: string, use: IdempotencyUse): Promise<TriggerKeyOutcome> {
  const ofKey = `SELECT t.*, k.endpoint, k.fingerprint FROM trigger_keys k JOIN triggers t ON t.id = k.trigger_id
                 WHERE k.owner = ? AND k.idempotency_key = ?`;
  const row = await sql.get(ofKey, owner, use.key);
  if (row === null) return { kind: 'fresh' };
  const isSame = isSameRequest({ endpoint: text.read(row['endpoint']), fingerprint: blob.read(row['fingerprint']) }, use);
  return isSame ? { kind: 'replay', trigger: readTrigger(row) } : { kind: 'mismatch' };
}

export async function addKey(sql: Sql, owner: string, use: IdempotencyUse, { id, createdAtMs }: StoredTrigger): Promise<void> {
  const { endpoint, key, fingerprint } = use;
  await insertRow(sql, 'trigger_keys', { owner, endpoint, idempotency_key: key, fingerprint, trigger_id: id, used_at_ms: createdAtMs });
}

/** Deletes keys and ended triggers after their retention time, by the hours in which the store was in use. Both are those of orders. */
export async function forgetOld(sql: Sql): Promise<void> {
  const usedBeforeMs = await storedBeforeMs(sql, idempotencyRetentionMs);
  if (usedBeforeMs === null) return;
  await sql.run(
    `DELETE FROM trigger_keys WHERE (owner, idempotency_key) IN
       (SELECT owner, idempotency_key FROM trigger_keys WHERE used_at_ms < ? ORDER BY used_at_ms LIMIT ${maxForgotten})`,
    usedBeforeMs,
  );
  const endedBeforeMs = await storedBeforeMs(sql, orderRetentionMs);
  if (endedBeforeMs === null) return;
  await sql.run(
    `DELETE FROM triggers WHERE id IN
       (SELECT id FROM triggers WHERE ended = 1 AND updated_at_ms < ? ORDER BY updated_at_ms LIMIT ${maxForgotten})`,
    endedBeforeMs,
  );
}
