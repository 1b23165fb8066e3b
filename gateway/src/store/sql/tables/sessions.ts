import { blob, insertRow, integer, Table, text, type RowOf } from '../columns.ts';
import type { Database } from '../database.ts';

const sessions = new Table('sessions', {
  tokenHash: blob,
  accountId: text,
  csrfHash: blob,
  createdAtMs: integer,
  expiresAtMs: integer,
  lastSeenAtMs: integer,
});

/** A session of the dashboard. The store holds only hashes of the browser's token and CSRF token. */
export type StoredSession = RowOf<typeof sessions>;

export const maxSessionsPerAccount = 10;

export function sessionTable(db: Database) {
  return {
    /**
     * Creates a session, and records it as the account's last sign-in. If the account has more than `maxSessionsPerAccount`, the oldest
     * ends. False: no such account, or it is disabled.
     */
    create: (session: Omit<StoredSession, 'lastSeenAtMs'>) =>
      db.transaction('accounts', async (sql) => {
        const { accountId, createdAtMs } = session;
        await sql.run('DELETE FROM sessions WHERE expires_at_ms <= ?', createdAtMs);
        const signIn = 'UPDATE accounts SET last_sign_in_at_ms = ? WHERE id = ? AND disabled_at_ms IS NULL';
        if ((await sql.run(signIn, createdAtMs, accountId)) === 0) return false;
        await insertRow(sql, 'sessions', sessions.write({ ...session, lastSeenAtMs: createdAtMs }));
        await sql.run(
          `DELETE FROM sessions WHERE account_id = ? AND token_hash NOT IN
           (SELECT token_hash FROM sessions WHERE account_id = ? ORDER BY created_at_ms DESC, token_hash LIMIT ${maxSessionsPerAccount})`,
          accountId,
          accountId,
        );
        return true;
      }),
    /** Null: no such session, or it has expired. */
    byTokenHash: (tokenHash: Uint8Array, nowMs: number) => sessions.one(db, 'WHERE token_hash = ? AND expires_at_ms > ?', tokenHash, nowMs),
    /** Records the last use and the new expiry. False: no such session. */
    touch: async (tokenHash: Uint8Array, seenAtMs: number, expiresAtMs: number) => {
      const touch = 'UPDATE sessions SET last_seen_at_ms = ?, expires_at_ms = ? WHERE token_hash = ? AND expires_at_ms > ?';
      return (await db.run(touch, seenAtMs, expiresAtMs, tokenHash, seenAtMs)) > 0;
    },
    /** False: no such session. */
    remove: async (tokenHash: Uint8Array) => (await db.run('DELETE FROM sessions WHERE token_hash = ?', tokenHash)) > 0,
  };
}
