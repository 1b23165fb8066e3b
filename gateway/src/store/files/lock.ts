import { SqliteDatabase, type SqliteConnection } from '../libsql.ts';
import { isCode, makeFile } from './files.ts';

export interface Lock {
  release(): void;
}

/**
 * Takes the lock `file`. Null: another process, or this one, holds it. The lock is SQLite's lock on an empty database, so the system
 * releases it when the process ends, even if it is killed. Throws if the file cannot be opened.
 */
export function takeLock(file: string): Lock | null {
  return lock(file, (db) => db.exec('BEGIN EXCLUSIVE'));
}

/** As `takeLock`, but several can hold it at once. Null: somebody holds the lock alone. */
export function takeSharedLock(file: string): Lock | null {
  return lock(file, (db) => {
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_schema').all();
  });
}

function lock(file: string, take: (db: SqliteConnection) => void): Lock | null {
  makeFile(file);
  const db = new SqliteDatabase(file);
  try {
    db.pragma('busy_timeout = 0');
    take(db);
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
