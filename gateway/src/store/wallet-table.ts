import { blob, integer, text, textOrNull, type Database } from './database.ts';

export interface StoredKeystore {
  readonly salt: Uint8Array;
  /** A known text under the passphrase's key: tells a wrong passphrase. */
  readonly proof: Uint8Array;
}

export interface StoredWallet {
  readonly publicKey: string;
  readonly label: string | null;
  readonly imported: boolean;
  readonly sealedSeed: Uint8Array;
  readonly createdAtMs: number;
}

/** Custodial wallets as stored: sealed, never a secret in the clear. */
export interface WalletTable {
  keystore(name: string): StoredKeystore | null;
  /** False: another process made it first. */
  insertKeystore(name: string, keystore: StoredKeystore, atMs: number): boolean;
  /** Oldest first. */
  list(keystore: string): readonly StoredWallet[];
  /** False: the keystore has this wallet, or `maxWallets` of them, already. */
  insert(keystore: string, wallet: StoredWallet): boolean;
}

/** Wallets of one keystore; beyond them a new one is refused. */
const maxWallets = 10_000;

export function createWalletTable(db: Database): WalletTable {
  return {
    keystore: (name) => {
      const row = db.get('SELECT salt, proof FROM keystores WHERE name = ?', name);
      return row === null ? null : { salt: blob(row['salt']), proof: blob(row['proof']) };
    },
    insertKeystore: (name, keystore, atMs) =>
      db.run(
        'INSERT INTO keystores (name, salt, proof, created_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
        name,
        keystore.salt,
        keystore.proof,
        atMs,
      ) > 0,
    list: (keystore) =>
      db.all('SELECT * FROM wallets WHERE keystore = ? ORDER BY created_at_ms, public_key', keystore).map((row) => ({
        publicKey: text(row['public_key']),
        label: textOrNull(row['label']),
        imported: row['imported'] === 1,
        sealedSeed: blob(row['sealed_seed']),
        createdAtMs: integer(row['created_at_ms']),
      })),
    insert: (keystore, wallet) =>
      db.run(
        `INSERT INTO wallets (keystore, public_key, label, imported, sealed_seed, created_at_ms)
         SELECT ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM wallets WHERE keystore = ?) < ${maxWallets}
         ON CONFLICT DO NOTHING`,
        keystore,
        wallet.publicKey,
        wallet.label,
        wallet.imported ? 1 : 0,
        wallet.sealedSeed,
        wallet.createdAtMs,
        keystore,
      ) > 0,
  };
}
