import { SqliteDatabase } from '../libsql.ts';
import { makeFile } from './make-file.ts';
import { isCode } from '../system-error.ts';

export interface Lock {
  release(): void;
}

/**
 * Takes the lock `file`. Null: another process, or this one, holds it. The lock is SQLite's lock on an empty database, so the system
 * releases it when the process ends, even if it is killed. Throws if the file cannot be opened.
 */
export function takeLock(file: string): Lock | null {
  makeFile(file);
  const db = new SqliteDatabase(file);
  try {
    db.pragma('busy_timeout = 0');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (isCode(error, 'SQLITE_BUSY')) return null;
    throw error;
  }
  return {
    release: () => {
      // `close` alone releases the lock only when the handle is garbage-collected.
      db.exec('ROLLBACK');
      db.close();
    },
  };
}
