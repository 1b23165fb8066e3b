import { join } from 'node:path';
import { openDatabase } from './database.ts';
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

/** Opens the embedded store under `dataDir`, makes it where there is none. Throws where it cannot be opened. */
export function openStore({ dataDir }: { readonly dataDir: string }): Store {
  const db = openDatabase(join(dataDir, 'sluice.db'));
  try {
    migrate(db);
  } catch (error) {
    db.close();
    throw error;
  }
  return { dataDir, keys: createKeyTable(db), wallets: createWalletTable(db), close: () => db.close() };
}
