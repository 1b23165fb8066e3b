import type Libsql from 'libsql';
import { loadInstalled } from '@sluice/shared/runtime/thread/installed-package.ts';

export type SqliteConnection = Libsql.Database;

/** SQLite. The package has machine code, so it is loaded at run time. */
export const SqliteDatabase = loadInstalled('libsql') as typeof Libsql;
