import type { StoredTrigger } from '../../../trigger-model/trigger.ts';
import { flag } from '../../columns.ts';
import type { Dialect, Sql, SqlValue } from '../../database.ts';
import { readTrigger } from './trigger-rows.ts';

/** By id, or all of an owner that match every given filter. */
export type CancelWhich =
  | { readonly ids: readonly string[] }
  | { readonly owner: string; readonly keyId?: string; readonly mint?: string; readonly publicKey?: string };

interface Cancel {
  readonly paper: boolean;
  readonly which: CancelWhich;
  readonly atMs: number;
}

/** Nothing is changed twice: one that was asked to end is left as it is. */
const set = `UPDATE triggers SET version = version + 1, cancel_asked = 1, waiting_for = NULL,
               state = CASE WHEN state = 'firing' THEN state ELSE 'cancelled' END, ended = CASE WHEN state = 'firing' THEN 0 ELSE 1 END,
               updated_at_ms = CASE WHEN updated_at_ms > ? THEN updated_at_ms ELSE ? END
             WHERE ended = 0 AND cancel_asked = 0 AND paper = ?`;

export async function cancelWithin(sql: Sql, dialect: Dialect, { paper, which, atMs }: Cancel): Promise<readonly StoredTrigger[]> {
  const update = async (where: string, values: readonly SqlValue[]): Promise<readonly StoredTrigger[]> =>
    (await sql.all(`${set} ${where} RETURNING *`, atMs, atMs, flag.write(paper), ...values)).map(readTrigger);
  const idsOf = `(SELECT key FROM ${dialect.jsonPairs})`;
  const [where, values] = 'ids' in which ? [`AND id IN ${idsOf}`, [asKeys(which.ids)]] : matching(which);
  const changed = [...(await update(where, values))];
  // What waits for a cancelled trigger can never be armed.
  let ended = cancelledIds(changed);
  while (ended.length > 0) {
    const children = await update(`AND state = 'waiting' AND parent_id IN ${idsOf}`, [asKeys(ended)]);
    changed.push(...children);
    ended = cancelledIds(children);
  }
  return changed;
}

function matching({ owner, keyId, mint, publicKey }: Exclude<CancelWhich, { ids: unknown }>): readonly [string, readonly SqlValue[]] {
  const filters = Object.entries({ owner, key_id: keyId, mint, public_key: publicKey }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value }],
  );
  return [filters.map(({ name }) => `AND ${name} = ?`).join(' '), filters.map(({ value }) => value)];
}

function cancelledIds(triggers: readonly StoredTrigger[]): readonly string[] {
  return triggers.filter(({ state }) => state === 'cancelled').map(({ id }) => id);
}

/** For `jsonPairs`. */
function asKeys(ids: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(ids.map((id) => [id, ''])));
}
