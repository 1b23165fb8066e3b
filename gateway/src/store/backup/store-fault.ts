import { SqliteDatabase } from '../libsql.ts';
import { DamagedStoreError, fullFault } from '../sql/sqlite/integrity.ts';
import { whileBusy } from '../sql/sqlite/sqlite-busy.ts';
import { pairFault, readOnlyUrl } from '../sql/sqlite/wal-pair.ts';
import { storeFiles } from './store-files.ts';

/** Checks the files of the embedded store completely, and changes nothing. Returns what is wrong and what to do. Null: nothing is wrong. */
export async function storeFault(dataDir: string): Promise<string | null> {
  const { database } = storeFiles(dataDir);
  const what = (await pairFault(database)) ?? (await contentFault(database));
  return what === null ? null : new DamagedStoreError(`${database}: ${what}`).message;
}

function contentFault(database: string): Promise<string | null> {
  const db = new SqliteDatabase(readOnlyUrl(database));
  return whileBusy(() => fullFault(db)).finally(() => db.close());
}
