import { planNames } from '@sluice/shared/wire/values/plans.ts';
import { accountKinds, maxAccounts, maxNonceAheadUs, type AccountTable, type StoredAccount } from '../../interfaces/account-table.ts';
import { countOf, integer, integerOrNull, text, textOrNull, type Database, type SqlRow } from '../database.ts';
import { nextKeyVersion } from './keys.ts';

export function accountTable(db: Database): AccountTable {
  const one = async (where: string, value: string): Promise<StoredAccount | null> => {
    const row = await db.get(`SELECT * FROM accounts WHERE ${where} = ?`, value);
    return row === null ? null : readAccount(row);
  };
  return {
    create: ({ id, wallet, plan, createdAtMs }) =>
      db.transaction('accounts', async (sql) => {
        if ((await countOf(sql, 'SELECT count(*) AS count FROM accounts')) >= maxAccounts) return 'full';
        const inserted = await sql.run(
          "INSERT INTO accounts (id, kind, wallet, plan, created_at_ms) VALUES (?, 'holder', ?, ?, ?) ON CONFLICT DO NOTHING",
          id,
          wallet,
          plan,
          createdAtMs,
        );
        return inserted > 0 ? 'stored' : 'taken';
      }),
    byId: (id) => one('id', id),
    byWallet: (wallet) => one('wallet', wallet),
    all: async () => (await db.all('SELECT * FROM accounts ORDER BY created_at_ms, id')).map(readAccount),
    setPlan: (id, plan) =>
      db.transaction('accounts', async (sql) => {
        const set = "UPDATE accounts SET plan = ? WHERE id = ? AND kind = 'holder' AND disabled_at_ms IS NULL";
        if ((await sql.run(set, plan, id)) === 0) return false;
        const version = await nextKeyVersion(sql);
        await sql.run('UPDATE api_keys SET plan = ?, version = ? WHERE account_id = ? AND revoked_at_ms IS NULL', plan, version, id);
        return true;
      }),
    useNonce: async (id, number, nowMs) => {
      const use = `UPDATE accounts SET last_nonce = ?
                   WHERE id = ? AND (last_nonce IS NULL OR last_nonce < ? OR last_nonce > ?)`;
      return (await db.run(use, number, id, number, nowMs * 1000 + maxNonceAheadUs)) > 0;
    },
    disable: (id, atMs) =>
      db.transaction('accounts', async (sql) => {
        const disable = "UPDATE accounts SET disabled_at_ms = ? WHERE id = ? AND kind = 'holder' AND disabled_at_ms IS NULL";
        if ((await sql.run(disable, atMs, id)) === 0) return false;
        const version = await nextKeyVersion(sql);
        await sql.run(
          'UPDATE api_keys SET revoked_at_ms = ?, version = ? WHERE account_id = ? AND revoked_at_ms IS NULL',
          atMs,
          version,
          id,
        );
        await sql.run('DELETE FROM sessions WHERE account_id = ?', id);
        await sql.run('DELETE FROM one_time WHERE account_id = ?', id);
        return true;
      }),
  };
}

function readAccount(row: SqlRow): StoredAccount {
  const id = text(row['id']);
  const kind = accountKinds.find((name) => name === row['kind']);
  const plan = planNames.find((name) => name === row['plan']);
  if (kind === undefined || plan === undefined)
    throw new Error(`account ${id} is stored with a kind or plan that this version does not know`);
  return {
    id,
    kind,
    wallet: textOrNull(row['wallet']),
    plan,
    createdAtMs: integer(row['created_at_ms']),
    disabledAtMs: integerOrNull(row['disabled_at_ms']),
    lastSignInAtMs: integerOrNull(row['last_sign_in_at_ms']),
  };
}
