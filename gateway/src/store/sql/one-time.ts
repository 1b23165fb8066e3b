import { maxOneTime, type OneTimeTable } from '../interfaces/one-time-table.ts';
import { countOf, integer, text, type Database } from './database.ts';

export function oneTimeTable(db: Database): OneTimeTable {
  return {
    put: ({ kind, hash, accountId, expiresAtMs }, nowMs) =>
      db.transaction('one-time', async (sql) => {
        await sql.run('DELETE FROM one_time WHERE kind = ? AND expires_at_ms <= ?', kind, nowMs);
        if ((await countOf(sql, 'SELECT count(*) AS count FROM one_time WHERE kind = ?', kind)) >= maxOneTime[kind]) return false;
        await sql.run(
          'INSERT INTO one_time (kind, hash, account_id, expires_at_ms) VALUES (?, ?, ?, ?)',
          kind,
          hash,
          accountId,
          expiresAtMs,
        );
        return true;
      }),
    take: async (kind, hash, nowMs) => {
      const row = await db.get('DELETE FROM one_time WHERE kind = ? AND hash = ? RETURNING account_id, expires_at_ms', kind, hash);
      if (row === null) return null;
      const [accountId, expiresAtMs] = [text(row['account_id']), integer(row['expires_at_ms'])];
      return expiresAtMs > nowMs ? { kind, hash, accountId, expiresAtMs } : null;
    },
  };
}
