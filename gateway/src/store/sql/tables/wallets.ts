import { blob, countOf, flag, insertRow, integer, nullable, Table, text, type RowOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { operatorAccountId } from './accounts.ts';

const keystores = new Table('keystores', {
  salt: blob,
  /** A known text encrypted under the passphrase's key. It shows whether a passphrase is right. */
  proof: blob,
});

export type StoredKeystore = RowOf<typeof keystores>;

const wallets = new Table('wallets', {
  publicKey: text,
  /** The account whose keys may trade with the wallet. Null: the operator's. */
  accountId: nullable(text),
  label: nullable(text),
  imported: flag,
  sealedSeed: blob,
  createdAtMs: integer,
});

export type StoredWallet = RowOf<typeof wallets>;

/** How many wallets there may be after an insertion. */
interface WalletLimits {
  /** Of the wallet's account. Default: any number. */
  readonly ofAccount?: number;
  /** In the keystore. Default, and the most: `maxWallets`. */
  readonly inKeystore?: number;
}

/** `exists`: the keystore has this wallet. `account_full`, `full`: a limit of the account, of the keystore. */
export type WalletInsertion = 'stored' | 'exists' | 'account_full' | 'full';

/** Maximum number of wallets of one keystore. A further one is refused. */
const maxWallets = 10_000;
/** Anybody may get an account where sign-up is open. So what accounts add, without the operator's, fills at most half of a keystore. */
const maxOfHolders = maxWallets / 2;

/** The limits of wallets that an account makes for itself. */
export function limitsOf(accountId: string | null, ofAccount: number): WalletLimits {
  return { ofAccount, inKeystore: accountId === null || accountId === operatorAccountId ? maxWallets : maxOfHolders };
}

export type WalletTable = ReturnType<typeof walletTable>;

/** The stored custodial wallets. Their seeds are always sealed. */
export function walletTable(db: Database) {
  return {
    keystore: (name: string) => keystores.one(db, 'WHERE name = ?', name),
    /** False: another process created it first. */
    insertKeystore: async (name: string, keystore: StoredKeystore, atMs: number) => {
      const values = { name, ...keystores.write(keystore), created_at_ms: atMs };
      return (await insertRow(db, 'keystores', values, 'ON CONFLICT DO NOTHING')) > 0;
    },
    /** Oldest first. */
    list: (keystore: string) => wallets.all(db, 'WHERE keystore = ? ORDER BY created_at_ms, public_key', keystore),
    /** The wallets that were created at or after a time. */
    createdSince: async (keystore: string, sinceMs: number) => {
      const rows = await db.all(
        'SELECT public_key, created_at_ms FROM wallets WHERE keystore = ? AND created_at_ms >= ?',
        keystore,
        sinceMs,
      );
      return rows.map((row) => ({ publicKey: text.read(row['public_key']), createdAtMs: integer.read(row['created_at_ms']) }));
    },
    /**
     * The wallet with which a key of an account trades if a request names none: the one that `setDefault` set, otherwise the oldest of the
     * account. Wallets without an account belong to the operator. Null: the account has no wallet.
     */
    defaultOf: async (keystore: string, { keyId, accountId }: { readonly keyId: string; readonly accountId: string }) => {
      const chosen = await db.get('SELECT public_key FROM default_wallets WHERE key_id = ? AND keystore = ?', keyId, keystore);
      const oldest = `SELECT public_key FROM wallets WHERE keystore = ? AND coalesce(account_id, ?) = ?
                      ORDER BY created_at_ms, public_key LIMIT 1`;
      const row = chosen ?? (await db.get(oldest, keystore, operatorAccountId, accountId));
      return row === null ? null : text.read(row['public_key']);
    },
    /** Sets the default wallet of a key. Rejects if there is no such key or wallet. */
    setDefault: async (keystore: string, keyId: string, publicKey: string) => {
      const replace = 'ON CONFLICT (key_id, keystore) DO UPDATE SET public_key = excluded.public_key';
      await insertRow(db, 'default_wallets', { key_id: keyId, keystore, public_key: publicKey }, replace);
    },
    /** False: the keystore has no such wallet. */
    setLabel: async (keystore: string, publicKey: string, label: string | null) =>
      (await db.run('UPDATE wallets SET label = ? WHERE keystore = ? AND public_key = ?', label, keystore, publicKey)) > 0,
    /** Null: the keystore has no such wallet. */
    byPublicKey: (keystore: string, publicKey: string) => wallets.one(db, 'WHERE keystore = ? AND public_key = ?', keystore, publicKey),
    /** Counts and inserts at once, so that concurrent insertions keep to the limits. Rejects if there is no such account or keystore. */
    insert: (keystore: string, wallet: StoredWallet, { ofAccount = Infinity, inKeystore = maxWallets }: WalletLimits = {}) =>
      db.transaction('wallets', async (sql): Promise<WalletInsertion> => {
        const count = 'SELECT count(*) AS count FROM wallets WHERE keystore = ?';
        if ((await countOf(sql, count, keystore)) >= Math.min(inKeystore, maxWallets)) return 'full';
        const own = [keystore, operatorAccountId, wallet.accountId ?? operatorAccountId];
        if ((await countOf(sql, `${count} AND coalesce(account_id, ?) = ?`, ...own)) >= ofAccount) return 'account_full';
        const inserted = await insertRow(sql, 'wallets', { keystore, ...wallets.write(wallet) }, 'ON CONFLICT DO NOTHING');
        return inserted > 0 ? 'stored' : 'exists';
      }),
  };
}
