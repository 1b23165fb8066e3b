import { maxSessionsPerAccount, type SessionTable, type StoredSession } from '../../interfaces/session-table.ts';
import { blob, integer, text, type Database, type SqlRow } from '../database.ts';

export function sessionTable(db: Database): SessionTable {
  return {
    create: (session) =>
      db.transaction('accounts', async (sql) => {
        const { tokenHash, accountId, csrfHash, createdAtMs, expiresAtMs } = session;
        await sql.run('DELETE FROM sessions WHERE expires_at_ms <= ?', createdAtMs);
        const signIn = 'UPDATE accounts SET last_sign_in_at_ms = ? WHERE id = ? AND disabled_at_ms IS NULL';
        if ((await sql.run(signIn, createdAtMs, accountId)) === 0) return false;
        await sql.run(
          `INSERT INTO sessions (token_hash, account_id, csrf_hash, created_at_ms, expires_at_ms, last_seen_at_ms)
           VALUES (?, ?, ?, ?, ?, ?)`,
          tokenHash,
          accountId,
          csrfHash,
          createdAtMs,
          expiresAtMs,
          createdAtMs,
        );
        await sql.run(
          `DELETE FROM sessions WHERE account_id = ? AND token_hash NOT IN
           (SELECT token_hash FROM sessions WHERE account_id = ? ORDER BY created_at_ms DESC, token_hash LIMIT ${maxSessionsPerAccount})`,
          accountId,
          accountId,
        );
        return true;
      }),
    byTokenHash: async (tokenHash, nowMs) => {
      const row = await db.get('SELECT * FROM sessions WHERE token_hash = ? AND expires_at_ms > ?', tokenHash, nowMs);
      return row === null ? null : readSession(row);
    },
    touch: async (tokenHash, seenAtMs, expiresAtMs) => {
      const touch = 'UPDATE sessions SET last_seen_at_ms = ?, expires_at_ms = ? WHERE token_hash = ? AND expires_at_ms > ?';
      return (await db.run(touch, seenAtMs, expiresAtMs, tokenHash, seenAtMs)) > 0;
    },
    remove: async (tokenHash) => (await db.run('DELETE FROM sessions WHERE token_hash = ?', tokenHash)) > 0,
    removeAllOf: (accountId) => db.run('DELETE FROM sessions WHERE account_id = ?', accountId),
  };
}

function readSession(row: SqlRow): StoredSession {
  return {
    tokenHash: blob(row['token_hash']),
    accountId: text(row['account_id']),
    csrfHash: blob(row['csrf_hash']),
    createdAtMs: integer(row['created_at_ms']),
    expiresAtMs: integer(row['expires_at_ms']),
    lastSeenAtMs: integer(row['last_seen_at_ms']),
  };
}
