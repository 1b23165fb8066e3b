import { operatorAccountId } from '../../interfaces/account-table.ts';
import { maxWallets, type StoredWallet, type WalletTable } from '../../interfaces/wallet-table.ts';
import { blob, countOf, integer, text, textOrNull, type Database, type SqlRow } from '../database.ts';

export function walletTable(db: Database): WalletTable {
  return {
    keystore: async (name) => {
      const row = await db.get('SELECT salt, proof FROM keystores WHERE name = ?', name);
      return row === null ? null : { salt: blob(row['salt']), proof: blob(row['proof']) };
    },
    insertKeystore: async (name, keystore, atMs) => {
      const insert = 'INSERT INTO keystores (name, salt, proof, created_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING';
      return (await db.run(insert, name, keystore.salt, keystore.proof, atMs)) > 0;
    },
    list: async (keystore) =>
      (await db.all('SELECT * FROM wallets WHERE keystore = ? ORDER BY created_at_ms, public_key', keystore)).map(readWallet),
    defaultOf: async (keystore, { keyId, accountId }) => {
      const chosen = await db.get('SELECT public_key FROM default_wallets WHERE key_id = ? AND keystore = ?', keyId, keystore);
      const oldest = `SELECT public_key FROM wallets WHERE keystore = ? AND coalesce(account_id, ?) = ?
                      ORDER BY created_at_ms, public_key LIMIT 1`;
      const row = chosen ?? (await db.get(oldest, keystore, operatorAccountId, accountId));
      return row === null ? null : text(row['public_key']);
    },
    setDefault: async (keystore, keyId, publicKey) => {
      const upsert = `INSERT INTO default_wallets (key_id, keystore, public_key) VALUES (?, ?, ?)
                      ON CONFLICT (key_id, keystore) DO UPDATE SET public_key = excluded.public_key`;
      await db.run(upsert, keyId, keystore, publicKey);
    },
    setLabel: async (keystore, publicKey, label) =>
      (await db.run('UPDATE wallets SET label = ? WHERE keystore = ? AND public_key = ?', label, keystore, publicKey)) > 0,
    byPublicKey: async (keystore, publicKey) => {
      const row = await db.get('SELECT * FROM wallets WHERE keystore = ? AND public_key = ?', keystore, publicKey);
      return row === null ? null : readWallet(row);
    },
    insert: (keystore, wallet, { ofAccount = Infinity, inKeystore = maxWallets } = {}) =>
      db.transaction('wallets', async (sql) => {
        const count = 'SELECT count(*) AS count FROM wallets WHERE keystore = ?';
        if ((await countOf(sql, count, keystore)) >= Math.min(inKeystore, maxWallets)) return 'full';
        const own = [keystore, operatorAccountId, wallet.accountId ?? operatorAccountId];
        if ((await countOf(sql, `${count} AND coalesce(account_id, ?) = ?`, ...own)) >= ofAccount) return 'account_full';
        const inserted = await sql.run(
          `INSERT INTO wallets (keystore, public_key, account_id, label, imported, sealed_seed, created_at_ms)
           VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
          keystore,
          wallet.publicKey,
          wallet.accountId,
          wallet.label,
          wallet.imported ? 1 : 0,
          wallet.sealedSeed,
          wallet.createdAtMs,
        );
        return inserted > 0 ? 'stored' : 'exists';
      }),
  };
}

function readWallet(row: SqlRow): StoredWallet {
  return {
    publicKey: text(row['public_key']),
    accountId: textOrNull(row['account_id']),
    label: textOrNull(row['label']),
    imported: row['imported'] === 1,
    sealedSeed: blob(row['sealed_seed']),
    createdAtMs: integer(row['created_at_ms']),
  };
}
