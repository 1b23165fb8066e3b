import { join } from 'node:path';
import { aboutDataDir } from './about-data-dir.ts';
import { openDatabase, type Database } from './database.ts';
import { createKeyTable, type KeyTable } from './key-table.ts';
import { migrate } from './migrations.ts';
import { createWalletTable, type WalletTable } from './wallet-table.ts';

/** What outlives a process. Several processes may hold the same store open at once. */
export interface Store {
  /** Where secrets beside the store lie: the pepper of the API keys, simnet's passphrase. */
  readonly dataDir: string;
  readonly keys: KeyTable;
  readonly wallets: WalletTable;
  close(): void;
}

/** Opens the embedded store under `dataDir`, makes it where there is none. Throws a `SettingError` where it cannot be opened. */
export function openStore({ dataDir }: { readonly dataDir: string }): Store {
  const file = join(dataDir, 'sluice.db');
  const db = aboutDataDir(`the store ${file} cannot be opened`, () => openMigrated(file));
  return { dataDir, keys: createKeyTable(db), wallets: createWalletTable(db), close: () => db.close() };
}

function openMigrated(file: string): Database {
  const db = openDatabase(file);
  try {
    migrate(db);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}
