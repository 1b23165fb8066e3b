import { copyFileSync, chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { giveToOwner, makeFolder, syncFolder } from '../files/files.ts';
import { takeLock } from '../files/lock.ts';
import { makeHaltMarks, type Folders } from '../halt/halt-mark.ts';
import { SqliteDatabase, withConnection, type SqliteConnection } from '../libsql.ts';
import type { CheckTable } from '../sql/tables/checks.ts';
import { checkTable } from '../sql/tables/checks.ts';
import { haltTable } from '../sql/tables/operation/halt.ts';
import { migrate, NewerLayoutError } from '../sql/migrations.ts';
import { fullFault, isDamage } from '../sql/sqlite/integrity.ts';
import { isBusy } from '../libsql.ts';
import { openSqlite } from '../sql/sqlite/sqlite.ts';
import { fileAloneUrl, stampCopy } from '../sql/sqlite/wal-pair.ts';
import { reasonOf } from '../store-unavailable.ts';
import { summaryOf, type CopySummary } from './copy-summary.ts';
import { storeFiles, type StoreFiles } from './store-files.ts';

export type RestoreOutcome =
  | {
      readonly ok: true;
      readonly summary: CopySummary;
      /** Where the files are that were exchanged. Null: there were none. */
      readonly replaced: string | null;
    }
  | { readonly ok: false; readonly reason: string };

/** Reads from the copy before it becomes the store. */
export type LookAtCopy = (checks: CheckTable) => Promise<void>;

/**
 * Exchanges the files of the embedded store for a copy that `backUp` made, and halts trading. Nothing is changed unless all checks of the
 * copy have passed and no process uses the store. If the process ends in between, the store cannot be opened until a restore has ended.
 * Rejects with the error of the system or of SQLite.
 */
export async function restore(folders: Folders, source: string, nowMs: number, look?: LookAtCopy): Promise<RestoreOutcome> {
  const files = storeFiles(folders.dataDir);
  const copy = resolve(source);
  const refused = (reason: string): RestoreOutcome => ({ ok: false, reason });
  const fault = sourceFault(copy, files);
  if (fault !== null) return refused(fault);
  makeFolder(files.dataDir);
  const lock = takeLock(files.lock);
  if (lock === null) return refused(inUse(files));
  const draft = `${files.database}.draft`;
  try {
    if (isOpenElsewhere(files.database)) return refused(inUse(files));
    copyFileSync(copy, draft);
    chmodSync(draft, 0o600);
    giveToOwner(draft, files.dataDir);
    const unusable = await prepare(draft, nowMs, look);
    if (unusable !== null) return refused(unusable);
    const summary = completeSummary(draft);
    // Before the exchange: a gateway that starts right after it must not trade.
    const [unmarked] = makeHaltMarks(folders, haltReason, nowMs);
    if (unmarked !== undefined) return refused(unmarked);
    return { ok: true, summary, replaced: exchange(files, draft, nowMs) };
  } catch (error) {
    if (isDamage(error)) return refused(`${copy} is damaged: ${reasonOf(error)}`);
    throw error;
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${draft}${end}`, { force: true });
    lock.release();
  }
}

const haltReason = 'the store was restored from a copy';

function inUse({ dataDir }: StoreFiles): string {
  return `a process uses the store in ${resolve(dataDir)}. Stop all gateways and commands that use it`;
}

function sourceFault(copy: string, { database }: StoreFiles): string | null {
  const name = basename(copy);
  if (statSync(copy, { throwIfNoEntry: false })?.isFile() !== true) return `there is no file ${copy}`;
  if (copy === resolve(database)) return `${copy} is the store itself`;
  if ((statSync(`${copy}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    return `next to ${name} is its write-ahead log ${name}-wal, so ${name} alone is not complete. Use a file that sluice backup made`;
  return withConnection(fileAloneUrl(copy), (db) => {
    const damage = fullFault(db);
    if (damage !== null) return `${copy} is damaged: ${damage}`;
    return summaryOf(db) === null ? `${copy} is not a store of sluice` : null;
  });
}

/** Never closed: SQLite would then apply the log to the file, even if the two do not belong together. The process ends soon. */
const exclusive: SqliteConnection[] = [];

/** Detects processes of a version that does not take the lock of the store, unless the file is damaged. */
function isOpenElsewhere(database: string): boolean {
  // SQLite would delete the log of an empty file.
  if ((statSync(database, { throwIfNoEntry: false })?.size ?? 0) === 0) return false;
  const db = new SqliteDatabase(database);
  try {
    db.exec('PRAGMA busy_timeout = 0');
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE; COMMIT');
  } catch (error) {
    if (isBusy(error)) {
      db.close();
      return true;
    }
    if (!isDamage(error)) throw error;
  }
  exclusive.push(db);
  return false;
}

/** Migrates and halts the copy, and gives it a stamp of its own. Returns why it cannot be used, or null. */
async function prepare(draft: string, nowMs: number, look?: LookAtCopy): Promise<string | null> {
  const db = await openSqlite(draft);
  try {
    await migrate(db);
    await haltTable(db).set(true, haltReason, nowMs);
    await look?.(checkTable(db));
  } catch (error) {
    if (error instanceof NewerLayoutError) return error.message;
    throw error;
  } finally {
    await db.close();
  }
  withConnection(draft, (copy) => {
    stampCopy(copy);
    copy.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  });
  return null;
}

/** Read from the file alone, because its log is left behind. */
function completeSummary(draft: string): CopySummary {
  return withConnection(fileAloneUrl(draft), (db) => {
    const [halt] = db.prepare('SELECT halted FROM trading_halt WHERE id = 1').all() as { readonly halted: number }[];
    const summary = summaryOf(db);
    if (summary === null || halt?.halted !== 1) throw new Error(`${draft} is not complete`);
    return summary;
  });
}

/** Returns the folder of the exchanged files. */
function exchange(files: StoreFiles, draft: string, nowMs: number): string | null {
  const { database, restoring, dataDir } = files;
  renameSync(draft, restoring);
  const present = [database, `${database}-wal`, `${database}-shm`].filter((file) => existsSync(file));
  const replaced = join(dataDir, `replaced-${new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')}`);
  if (present.length > 0) {
    mkdirSync(replaced, { mode: 0o700 });
    giveToOwner(replaced, dataDir);
    for (const file of present) renameSync(file, join(replaced, basename(file)));
    syncFolder(replaced);
  }
  syncFolder(dataDir);
  renameSync(restoring, database);
  syncFolder(dataDir);
  return present.length > 0 ? resolve(replaced) : null;
}
