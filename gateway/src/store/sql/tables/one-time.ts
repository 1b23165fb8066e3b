import { blob, countOf, insertRow, integer, Table, text, type RowOf } from '../columns.ts';
import type { Database, Sql } from '../database.ts';

const entries = new Table('one_time', {
  /** Hash of the value that was handed out; the value itself is not stored. */
  hash: blob,
  /** The account that the link signs in. */
  accountId: text,
  expiresAtMs: integer,
});

/** A sign-in link that the operator created. */
export type OneTime = RowOf<typeof entries>;

/** Maximum number of entries; a used one is stored until it expires. A further one is refused until others expire. */
export const maxOneTime = 1_000;

/** The kinds of entries. A used one is stored until it expires, so that the answer to a second use says why it fails. */
const [unused, used] = ['link', 'used link'] as const;

/** Values that can be used once, by all gateways together. */
export function oneTimeTable(db: Database) {
  return {
    /** Deletes expired entries, then stores this one. False: `maxOneTime` are stored, used ones included. */
    put: (entry: OneTime, nowMs: number) =>
      db.transaction('one-time', async (sql) => {
        await sql.run('DELETE FROM one_time WHERE kind IN (?, ?) AND expires_at_ms <= ?', unused, used, nowMs);
        if ((await countOf(sql, 'SELECT count(*) AS count FROM one_time WHERE kind IN (?, ?)', unused, used)) >= maxOneTime) return false;
        await insert(sql, unused, entry);
        return true;
      }),
    /** Returns the entry, and marks it as used. Of several simultaneous calls, one gets it. `used`: used already. Null: no such entry, or expired. */
    take: (hash: Uint8Array, nowMs: number) =>
      db.transaction('one-time', async (sql): Promise<OneTime | 'used' | null> => {
        const row = await sql.get('DELETE FROM one_time WHERE kind = ? AND hash = ? RETURNING *', unused, hash);
        if (row === null) {
          const count = 'SELECT count(*) AS count FROM one_time WHERE kind = ? AND hash = ? AND expires_at_ms > ?';
          return (await countOf(sql, count, used, hash, nowMs)) > 0 ? 'used' : null;
        }
        const entry = entries.read(row);
        if (entry.expiresAtMs <= nowMs) return null;
        await insert(sql, used, entry);
        return entry;
      }),
  };
}

async function insert(sql: Sql, kind: string, entry: OneTime): Promise<void> {
  await insertRow(sql, 'one_time', { kind, ...entries.write(entry) }, 'ON CONFLICT (kind, hash) DO NOTHING');
}
