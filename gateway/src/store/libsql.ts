import { setTimeout as delay } from 'node:timers/promises';
import type Libsql from 'libsql';
import { loadInstalled } from '@sluice/shared/runtime/thread/installed-package.ts';
import { StoreUnavailableError } from './store-unavailable.ts';

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

/** How long a call waits for locks of other processes before it rejects. */
const busyTimeoutMs = 10_000;
/** Upper bounds of the first and of every later pause between attempts. */
const firstPauseMs = 1;
const longestPauseMs = 64;

/** Repeats `work` while another process holds the lock that it needs. An attempt that finds the file busy has changed nothing. */
export async function whileBusy<T>(work: () => T): Promise<T> {
  const deadlineMs = performance.now() + busyTimeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > deadlineMs) throw new StoreUnavailableError(error);
    }
    // Random, so that waiting processes do not all try again at the same moment.
    await delay(1 + Math.random() * pauseMs);
  }
}

/** Includes the extended codes, for example `SQLITE_BUSY_SNAPSHOT`. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}

/** Errors of the disk or the file. Any other error is a bug. */
const unavailableCodes = /^SQLITE_(FULL|IOERR|CANTOPEN|READONLY|NOMEM|CORRUPT|NOTADB)/;

export function faultOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error && unavailableCodes.test(String(error.code)) ? new StoreUnavailableError(error) : error;
}

export function orUnavailable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw faultOf(error);
  }
}
