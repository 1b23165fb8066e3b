import type Libsql from 'libsql';
import { loadInstalled } from '@sluice/shared/runtime/thread/installed-package.ts';

export type SqliteConnection = Libsql.Database;

/** SQLite. The package has machine code, so it is loaded at run time. */
export const SqliteDatabase = loadInstalled('libsql') as typeof Libsql;

/** Runs `work` on a connection to the file, which is closed afterwards. */
export function withConnection<T>(file: string, work: (db: SqliteConnection) => T): T {
  const db = new SqliteDatabase(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
}
