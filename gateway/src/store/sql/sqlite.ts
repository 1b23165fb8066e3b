import Libsql from 'libsql';
import { makeFile } from '../make-file.ts';
import { StoreAwayError } from '../store-away.ts';
import type { Database, Dialect, Sql, SqlRow, SqlValue } from './database.ts';
import { whileBusy } from './sqlite-busy.ts';
import { createGroups, type Turns } from './sqlite-groups.ts';
import { createWalSync } from './wal-sync.ts';

/** Calls that wait for their turn on the one connection; one more is refused. A group of transactions is one. */
const maxWaiting = 10_000;

/** Some 48 MB. A checkpoint takes milliseconds and two turns of the disk, for all of which the connection's thread stands still. */
const usualCheckpointPages = 12_000;
/**
 * For a connection whose thread nobody waits for: it is the first to come to it. An order changes its page four times in some seconds:
 * the later the log is brought into the file, the more of them are brought there once.
 */
export const earlyCheckpointPages = 4_000;

/** Statements that change nothing; others may, whatever they give back. */
const isRead = /^\s*SELECT\b/i;

const dialect: Dialect = {
  layout: (script) => script.split(';').flatMap((statement) => (statement.trim() === '' ? [] : [statement.trim()])),
  jsonPairs: 'json_each(?)',
};

/**
 * Opens or makes SQLite in a file, readable by its owner only; other processes may have it open. Calls take turns on the one
 * connection. Rejects where the file is no database or cannot be opened. `checkpointPages`: how long the log may grow until this connection
 * brings it into the file, unless another did. `flush` writes a file to the disk, as `fdatasync` does.
 */
export async function openSqlite(
  file: string,
  {
    checkpointPages = usualCheckpointPages,
    flush,
  }: { readonly checkpointPages?: number; readonly flush?: (fd: number) => Promise<void> } = {},
): Promise<Database> {
  // SQLite gives the files beside it (-wal, -shm) the mode of this one.
  makeFile(file);
  const db = await whileBusy(() => connect(file, checkpointPages));
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
  const all = (sql: string, values: readonly SqlValue[]): SqlRow[] => orAway(() => prepare(sql).all(values) as SqlRow[]);
  const run = (sql: string, values: readonly SqlValue[]): number => orAway(() => prepare(sql).run(values).changes);
  const inTransaction: Sql = {
    get: async (sql, ...values) => all(sql, values)[0] ?? null,
    all: async (sql, ...values) => all(sql, values),
    run: async (sql, ...values) => run(sql, values),
  };
  const inTurn = createTurns();
  const disk = createWalSync(file, flush);
  const inGroup = createGroups(db, inTurn, () => disk.wrote());
  let knownVersion: unknown = null;
  /** Whether another connection has committed since this was asked last. What stood there before may not be on the disk either. */
  const othersWrote = (): boolean => {
    const version = all('PRAGMA data_version', [])[0]?.['data_version'];
    if (version === knownVersion) return false;
    knownVersion = version;
    return true;
  };
  const once = async <T>(sql: string, work: () => T, isNothing: (result: T) => boolean): Promise<T> => {
    // What is asked for behind this comes behind it.
    inGroup.close();
    const { result, wrote } = await inTurn(() =>
      whileBusy(() => {
        const told = work();
        if (!isRead.test(sql)) return { result: told, wrote: true };
        // Of what is not there nothing has to outlive the machine's power.
        return { result: told, wrote: isNothing(told) ? null : othersWrote() };
      }),
    );
    if (wrote !== null) await (wrote ? disk.wrote() : disk.seen());
    return result;
  };
  return {
    dialect,
    get: (sql, ...values) =>
      once(
        sql,
        () => all(sql, values)[0] ?? null,
        (row) => row === null,
      ),
    all: (sql, ...values) =>
      once(
        sql,
        () => all(sql, values),
        (rows) => rows.length === 0,
      ),
    run: (sql, ...values) =>
      once(
        sql,
        () => run(sql, values),
        () => false,
      ),
    transaction: (_area, work) => inGroup(() => work(inTransaction)),
    close: () => {
      inGroup.close();
      return inTurn(async () => {
        statements.clear();
        await disk.close();
        db.close();
      });
    },
  };
}

/**
 * SQLite's own waiting stops the whole process, and there is none where a lock is only raised: of several processes that turn a
 * new file to WAL at once, all but one are told at once that it is busy. So it never waits; `whileBusy` does.
 */
function connect(file: string, checkpointPages: number): Libsql.Database {
  const db = new Libsql(file);
  try {
    db.pragma('busy_timeout = 0');
    db.pragma('journal_mode = WAL');
    // Not FULL: a commit is made durable by `WalSync`, without the process standing still meanwhile.
    db.pragma('synchronous = NORMAL');
    db.pragma('foreign_keys = ON');
    db.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Faults of the disk or of the file, which may pass; any other is a bug. */
const awayCodes = /^SQLITE_(FULL|IOERR|CANTOPEN|READONLY|NOMEM)/;

function faultOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error && awayCodes.test(String(error.code)) ? new StoreAwayError(error) : error;
}

function orAway<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw faultOf(error);
  }
}

/** One after the other: what is begun first ends first. */
function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return (work) => {
    if (waiting >= maxWaiting) return Promise.reject(new StoreAwayError(new Error(`${maxWaiting} calls wait for the store already`)));
    waiting++;
    const turn = last
      .then(work)
      .catch((error: unknown) => {
        throw faultOf(error);
      })
      .finally(() => waiting--);
    // Whoever asked hears of a failure; the next in line begins all the same.
    last = turn.catch(() => undefined);
    return turn;
  };
}
