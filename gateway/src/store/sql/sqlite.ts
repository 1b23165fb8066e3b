import { setTimeout as delay } from 'node:timers/promises';
import Libsql from 'libsql';
import { makeFile } from '../make-file.ts';
import { StoreAwayError } from '../store-away.ts';
import type { Database, Dialect, Sql, SqlRow, SqlValue } from './database.ts';

/** How long a call waits for other processes before it rejects, milliseconds. */
const busyTimeoutMs = 10_000;
/** Pauses between the attempts, milliseconds: the first at most, and the longest. */
const firstPauseMs = 4;
const longestPauseMs = 64;
/** Calls that wait for their turn on the one connection; one more is refused. */
const maxWaiting = 10_000;

const dialect: Dialect = {
  layout: (script) => script.split(';').flatMap((statement) => (statement.trim() === '' ? [] : [statement.trim()])),
  jsonPairs: 'json_each(?)',
};

/**
 * Opens or makes SQLite in a file, readable by its owner only; other processes may have it open. Calls take turns on the one
 * connection. Rejects where the file is no database or cannot be opened.
 */
export async function openSqlite(file: string): Promise<Database> {
  // SQLite gives the files beside it (-wal, -shm) the mode of this one.
  makeFile(file);
  const db = await whileBusy(() => connect(file));
  const statements = new Map<string, Libsql.Statement>();
  const prepare = (sql: string): Libsql.Statement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  // Values go as one list: a single one that is bytes would be taken for named values, and end the process.
  // To the end even for one row: a statement that stands half-way keeps its lock.
  const all = (sql: string, values: readonly SqlValue[]): SqlRow[] => prepare(sql).all(values) as SqlRow[];
  const run = (sql: string, values: readonly SqlValue[]): number => prepare(sql).run(values).changes;
  const inTransaction: Sql = {
    get: async (sql, ...values) => all(sql, values)[0] ?? null,
    all: async (sql, ...values) => all(sql, values),
    run: async (sql, ...values) => run(sql, values),
  };
  const inTurn = createTurns();
  const once = <T>(work: () => T): Promise<T> => inTurn(() => whileBusy(work));
  return {
    dialect,
    get: (sql, ...values) => once(() => all(sql, values)[0] ?? null),
    all: (sql, ...values) => once(() => all(sql, values)),
    run: (sql, ...values) => once(() => run(sql, values)),
    transaction: (_area, work) =>
      inTurn(async () => {
        // The write lock is taken at once, so nothing behind it finds the file busy.
        await whileBusy(() => db.exec('BEGIN IMMEDIATE'));
        try {
          const result = await work(inTransaction);
          db.exec('COMMIT');
          return result;
        } catch (error) {
          if (db.inTransaction) db.exec('ROLLBACK');
          throw error;
        }
      }),
    close: () =>
      inTurn(async () => {
        statements.clear();
        db.close();
      }),
  };
}

/**
 * SQLite's own waiting stops the whole process, and there is none where a lock is only raised: of several processes that turn a
 * new file to WAL at once, all but one are told at once that it is busy. So it never waits; `whileBusy` does.
 */
function connect(file: string): Libsql.Database {
  const db = new Libsql(file);
  try {
    db.pragma('busy_timeout = 0');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('foreign_keys = ON');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Tries again while another process holds the lock that `work` needs; what finds the file busy has done nothing. */
async function whileBusy<T>(work: () => T): Promise<T> {
  const deadlineMs = performance.now() + busyTimeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > deadlineMs) throw new StoreAwayError(error);
    }
    // Not all at the same moment again.
    await delay(1 + Math.random() * pauseMs);
  }
}

/** `SQLITE_BUSY`, and its kinds for recovery and snapshots. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}

/** One after the other: what is begun first ends first. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return (work) => {
    if (waiting >= maxWaiting) return Promise.reject(new StoreAwayError(new Error(`${maxWaiting} calls wait for the store already`)));
    waiting++;
    const turn = last.then(work).finally(() => waiting--);
    // Whoever asked hears of a failure; the next in line begins all the same.
    last = turn.catch(() => undefined);
    return turn;
  };
}
