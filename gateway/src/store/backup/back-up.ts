import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeFile, syncFolder } from '../files/files.ts';
import { SqliteDatabase, withConnection, type SqliteConnection } from '../libsql.ts';
import { asDamage, DamagedStoreError, fullFault } from '../sql/sqlite/integrity.ts';
import { whileBusy } from '../libsql.ts';
import { fileAloneUrl, pairFault, readOnlyUrl, stampCopy } from '../sql/sqlite/wal-pair.ts';
import { summaryOf, type CopySummary } from './copy-summary.ts';
import { storeFiles } from './store-files.ts';

export type BackupOutcome =
  | { readonly ok: true; readonly file: string; readonly bytes: number; readonly summary: CopySummary }
  | { readonly ok: false; readonly reason: string };

/**
 * Writes the store of one moment to a new file that only its owner can read, while other processes use the store. The file is checked
 * before it gets its name. Rejects with the error of the system or of SQLite.
 */
export async function backUp(dataDir: string, target: string): Promise<BackupOutcome> {
  const { database } = storeFiles(dataDir);
  const file = resolve(target);
  if (!existsSync(database)) return { ok: false, reason: `there is no store ${database}` };
  if (existsSync(file)) return { ok: false, reason: `${file} exists. Give the name of a new file` };
  if (!existsSync(dirname(file))) return { ok: false, reason: `there is no folder ${dirname(file)}` };
  const draft = `${file}.${randomBytes(6).toString('hex')}.draft`;
  try {
    const fault = await pairFault(database);
    if (fault !== null) throw new DamagedStoreError(fault);
    makeFile(draft);
    await copyStore(database, draft);
    const summary = withConnection(fileAloneUrl(draft), checkedSummary);
    renameSync(draft, file);
    syncFolder(dirname(file));
    return { ok: true, file, bytes: statSync(file).size, summary };
  } catch (error) {
    const fault = asDamage(error);
    if (fault instanceof DamagedStoreError) return { ok: false, reason: fault.message };
    throw error;
  } finally {
    for (const end of ['', '-journal']) rmSync(`${draft}${end}`, { force: true });
  }
}

async function copyStore(database: string, draft: string): Promise<void> {
  const source = new SqliteDatabase(readOnlyUrl(database));
  source.exec('PRAGMA busy_timeout = 0');
  await whileBusy(() => source.prepare('VACUUM INTO ?').run([draft]));
  source.close();
  // The pages of the copy are in another order. No log of the store may ever be applied to it.
  withConnection(draft, stampCopy);
}

function checkedSummary(db: SqliteConnection): CopySummary {
  const damage = fullFault(db);
  if (damage !== null) throw new DamagedStoreError(damage);
  const summary = summaryOf(db);
  if (summary === null) throw new DamagedStoreError('it has no tables of sluice');
  return summary;
}

/** Checks the files of the embedded store completely, and changes nothing. Returns what is wrong and what to do. Null: nothing is wrong. */
export async function storeFault(dataDir: string): Promise<string | null> {
  const { database } = storeFiles(dataDir);
  const what = (await pairFault(database)) ?? (await whileBusy(() => withConnection(readOnlyUrl(database), fullFault)));
  return what === null ? null : new DamagedStoreError(`${database}: ${what}`).message;
}
