import { maxOneTime, type OneTimeKind, type OneTimeTable } from '../../interfaces/one-time-table.ts';
import { countOf, integer, text, type Database, type Sql } from '../database.ts';

/** The kind of an entry that was used. It is stored until it expires, so that the answer to a second use says why it fails. */
const usedKind = (kind: OneTimeKind): string => `used ${kind}`;

export function oneTimeTable(db: Database): OneTimeTable {
  return {
    put: ({ kind, hash, accountId, expiresAtMs }, nowMs) =>
      db.transaction('one-time', async (sql) => {
        const kinds = [kind, usedKind(kind)];
        await sql.run('DELETE FROM one_time WHERE kind IN (?, ?) AND expires_at_ms <= ?', ...kinds, nowMs);
        if ((await countOf(sql, 'SELECT count(*) AS count FROM one_time WHERE kind IN (?, ?)', ...kinds)) >= maxOneTime[kind]) return false;
        await insert(sql, kind, hash, accountId, expiresAtMs);
        return true;
      }),
    take: (kind, hash, nowMs) =>
      db.transaction('one-time', async (sql) => {
        const row = await sql.get('DELETE FROM one_time WHERE kind = ? AND hash = ? RETURNING account_id, expires_at_ms', kind, hash);
        if (row === null) {
          const used = 'SELECT count(*) AS count FROM one_time WHERE kind = ? AND hash = ? AND expires_at_ms > ?';
          return (await countOf(sql, used, usedKind(kind), hash, nowMs)) > 0 ? 'used' : null;
        }
        const [accountId, expiresAtMs] = [text(row['account_id']), integer(row['expires_at_ms'])];
        if (expiresAtMs <= nowMs) return null;
        await insert(sql, usedKind(kind), hash, accountId, expiresAtMs);
        return { kind, hash, accountId, expiresAtMs };
      }),
  };
}

async function insert(sql: Sql, kind: string, hash: Uint8Array, accountId: string, expiresAtMs: number): Promise<void> {
  await sql.run(
    'INSERT INTO one_time (kind, hash, account_id, expires_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT (kind, hash) DO NOTHING',
    kind,
    hash,
    accountId,
    expiresAtMs,
  );
}
