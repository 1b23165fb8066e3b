import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { giveToOwner } from '../files/files.ts';
import { takeSharedLock, type Lock } from '../files/lock.ts';

export type StoreFiles = ReturnType<typeof storeFiles>;

/** The files of the embedded store. */
export function storeFiles(dataDir: string) {
  const database = join(dataDir, 'sluice.db');
  return {
    dataDir,
    database,
    /** Locked by all processes that use the store, and by a restore alone. */
    lock: join(dataDir, 'store.lock'),
    /** Exists while a restore exchanges the files of the store. */
    restoring: `${database}.restoring`,
  };
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
