import { planNames, type PlanName } from '@sluice/shared/wire/values/plans.ts';
import { countOf, insertRow, integer, nullable, oneOf, Table, text, type RowOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { nextKeyVersion } from './keys.ts';

const accounts = new Table('accounts', {
  id: text,
  /** `operator`: the one account of the operator, which always exists. `holder`: any other account. */
  kind: oneOf(['operator', 'holder']),
  /** Address of the wallet that signs in; no two accounts share one. Null: the account signs in only by the operator's one-time links. */
  wallet: nullable(text),
  /** The plan of the keys that the account creates. */
  plan: oneOf(planNames),
  createdAtMs: integer,
  /** When the account was disabled: its keys and sessions ended, and no one can sign in since. Null: enabled. */
  disabledAtMs: nullable(integer),
  lastSignInAtMs: nullable(integer),
});

export type StoredAccount = RowOf<typeof accounts>;

export const operatorAccountId = 'operator';
/** Maximum number of accounts that the store holds. Creating one more is refused. */
export const maxAccounts = 100_000;
/** How far ahead of the time of the other gateways the number of a nonce may be, in microseconds. */
export const maxNonceAheadUs = 60_000_000;

/** The accounts that own keys and sign in to the dashboard. */
export function accountTable(db: Database) {
  return {
    /** Creates an account of the kind `holder`. `taken`: another account has this wallet or this id. `full`: the store holds `maxAccounts`. */
    create: (account: Pick<StoredAccount, 'id' | 'wallet' | 'plan' | 'createdAtMs'>) =>
      db.transaction('accounts', async (sql) => {
        if ((await countOf(sql, 'SELECT count(*) AS count FROM accounts')) >= maxAccounts) return 'full';
        const holder = accounts.write({ ...account, kind: 'holder' });
        return (await insertRow(sql, 'accounts', holder, 'ON CONFLICT DO NOTHING')) > 0 ? 'stored' : 'taken';
      }),
    byId: (id: string) => accounts.one(db, 'WHERE id = ?', id),
    byWallet: (wallet: string) => accounts.one(db, 'WHERE wallet = ?', wallet),
    /** All accounts, including disabled ones, oldest first. */
    all: () => accounts.all(db, 'ORDER BY created_at_ms, id'),
    /** Sets the plan of an account of the kind `holder`, and of its keys. False: no such account, or it is disabled. */
    setPlan: (id: string, plan: PlanName) =>
      db.transaction('accounts', async (sql) => {
        const set = "UPDATE accounts SET plan = ? WHERE id = ? AND kind = 'holder' AND disabled_at_ms IS NULL";
        if ((await sql.run(set, plan, id)) === 0) return false;
        const version = await nextKeyVersion(sql);
        await sql.run('UPDATE api_keys SET plan = ?, version = ? WHERE account_id = ? AND revoked_at_ms IS NULL', plan, version, id);
        return true;
      }),
    /**
     * Records that a sign-in nonce was used. If several calls use the same number at once, one succeeds. False: the account has used
     * this number or a later one. A stored number more than a minute ahead of `nowMs` came from a wrong clock and is ignored.
     */
    useNonce: async (id: string, number: number, nowMs: number) => {
      const use = 'UPDATE accounts SET last_nonce = ? WHERE id = ? AND (last_nonce IS NULL OR last_nonce < ? OR last_nonce > ?)';
      return (await db.run(use, number, id, number, nowMs * 1000 + maxNonceAheadUs)) > 0;
    },
    /** Disables an account of the kind `holder`, and ends its keys, sessions and links. False: no such account, or it is disabled already. */
    disable: (id: string, atMs: number) =>
      db.transaction('accounts', async (sql) => {
        const disable = "UPDATE accounts SET disabled_at_ms = ? WHERE id = ? AND kind = 'holder' AND disabled_at_ms IS NULL";
        if ((await sql.run(disable, atMs, id)) === 0) return false;
        const version = await nextKeyVersion(sql);
        const revoke = 'UPDATE api_keys SET revoked_at_ms = ?, version = ? WHERE account_id = ? AND revoked_at_ms IS NULL';
        await sql.run(revoke, atMs, version, id);
        await sql.run('DELETE FROM sessions WHERE account_id = ?', id);
        await sql.run('DELETE FROM one_time WHERE account_id = ?', id);
        return true;
      }),
  };
}
