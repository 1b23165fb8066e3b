import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { giveToOwner } from '../files/files.ts';
import { takeSharedLock, type Lock } from '../files/lock.ts';

/** The files of the embedded store. */
export interface StoreFiles {
  readonly dataDir: string;
  readonly database: string;
  /** Locked by all processes that use the store, and by a restore alone. */
  readonly lock: string;
  /** Exists while a restore exchanges the files of the store. */
  readonly restoring: string;
}

export function storeFiles(dataDir: string): StoreFiles {
  const database = join(dataDir, 'sluice.db');
  return { dataDir, database, lock: join(dataDir, 'store.lock'), restoring: `${database}.restoring` };
}

/** Prevents a restore while the store is in use. Throws if one is running, or has not ended. */
export function useStore({ dataDir, lock, restoring }: StoreFiles): Lock {
  const taken = takeSharedLock(lock);
  giveToOwner(lock, dataDir);
  if (taken === null) throw new Error('a restore is running');
  if (!existsSync(restoring)) return taken;
  taken.release();
  throw new Error(`a restore was interrupted. Run it again: sluice restore FILE`);
}
