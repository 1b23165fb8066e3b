import Libsql from 'libsql';
import { makeFile } from './make-file.ts';
import { isCode } from './system-error.ts';

export interface Lock {
  release(): void;
}

/**
 * Takes the lock that `file` stands for; null while another process, or this one, holds it. It is SQLite's lock on a database
 * without content: the system itself lets go of it when the process ends, however it ends. Throws where the file cannot be opened.
 */
export function takeLock(file: string): Lock | null {
  makeFile(file);
  const db = new Libsql(file);
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
      // To close alone lets go only when the handle is collected.
      db.exec('ROLLBACK');
      db.close();
    },
  };
}
