import type Libsql from 'libsql';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { faultOf, orUnavailable, SqliteDatabase, whileBusy, type SqliteConnection } from '../../libsql.ts';
import { makeFile } from '../../files/files.ts';
import { StoreUnavailableError } from '../../store-unavailable.ts';
import { sqlOf, type Database, type Dialect, type SqlRow, type SqlValue } from '../database.ts';
import { DamagedStoreError, quickFault } from './integrity.ts';
import { Groups, type InTurn } from './sqlite-groups.ts';
import { emptyLog, startUpkeep } from './sqlite-upkeep.ts';
import { pairFault } from './wal-pair.ts';
import { createWalSync } from './wal-sync.ts';

/** Maximum number of calls that wait for the connection. A further one is refused. A group of transactions counts as one. */
const maxWaiting = 10_000;

/** About 48 MB. A checkpoint blocks the thread for some milliseconds and two disk writes. */
const usualCheckpointPages = 12_000;
/**
 * For a connection on a background thread. Its limit is lower, so this connection makes the checkpoints and not one that serves
 * requests. It is not lower still, because an order changes its page four times within seconds, and a later checkpoint writes that
 * page once.
 */
const earlyCheckpointPages = 4_000;

/** Statements that cannot change anything. Others may, even if they return rows. */
const isRead = /^\s*SELECT\b/i;

const dialect: Dialect = {
  layout: (script) => script.split(';').flatMap((statement) => (statement.trim() === '' ? [] : [statement.trim()])),
  jsonPairs: 'json_each(?)',
  clock: null,
};

/**
 * How a connection is used. `service`: for as long as a process serves requests. `thread`: the same, on a thread for which no request
 * waits. `command`: for a short time.
 */
export type ConnectionUse = 'service' | 'thread' | 'command';

export interface SqliteOptions {
  readonly use?: ConnectionUse;
  readonly clock?: Clock;
  /** The length of the write-ahead log at which this connection makes a checkpoint. */
  readonly checkpointPages?: number;
  /** Writes a file to the disk, as `fdatasync` does. */
  readonly flush?: (fd: number) => Promise<void>;
}

/**
 * Opens or creates a SQLite file, readable by its owner only. Other processes may have it open too. Calls run one after the other on one
 * connection. Rejects if the file is no database, cannot be opened, or does not belong to the write-ahead log next to it. A `service`
 * also checks whether the file is damaged.
 */
export async function openSqlite(file: string, options: SqliteOptions = {}): Promise<Database> {
  const { use = 'command', clock = systemClock, flush } = options;
  const { checkpointPages = use === 'thread' ? earlyCheckpointPages : usualCheckpointPages } = options;
  const db = await open(file, use, checkpointPages);
  const statements = new Map<string, Libsql.Statement>();
  const prepare = (sql: string): Libsql.Statement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  // Values are passed as a list: libsql takes a single byte array for named values, and the process dies.
  // All rows are read, even if one is needed: a statement that is not finished keeps its lock.
  const all = (sql: string, values: readonly SqlValue[]): SqlRow[] => orUnavailable(() => prepare(sql).all(values) as SqlRow[]);
  const run = (sql: string, values: readonly SqlValue[]): number => orUnavailable(() => prepare(sql).run(values).changes);
  const inTransaction = sqlOf(
    async (sql, values) => all(sql, values),
    async (sql, values) => run(sql, values),
  );
  const inTurn = createTurns();
  const disk = createWalSync(file, flush);
  const groups = new Groups(db, inTurn, () => disk.wrote());
  let knownVersion: unknown = null;
  /** Whether another connection has committed since the last call. The first call returns true: earlier commits may not be on the disk. */
  const othersWrote = (): boolean => {
    const version = all('PRAGMA data_version', [])[0]?.['data_version'];
    if (version === knownVersion) return false;
    knownVersion = version;
    return true;
  };
  const once = async <T extends number | readonly SqlRow[]>(sql: string, work: () => T): Promise<T> => {
    // Transactions requested after this call must run after it.
    groups.close();
    const { result, wrote } = await inTurn(() =>
      whileBusy(() => {
        const answer = work();
        if (!isRead.test(sql)) return { result: answer, wrote: true };
        // An empty answer depends on no commit that must be durable first.
        return { result: answer, wrote: Array.isArray(answer) && answer.length === 0 ? null : othersWrote() };
      }),
    );
    if (wrote !== null) await (wrote ? disk.wrote() : disk.seen());
    return result;
  };
  const upkeep = use === 'command' ? null : startUpkeep({ file, db, inTurn, groups, clock, stamps: use === 'service' });
  return {
    dialect,
    ...sqlOf(
      (sql, values) => once(sql, () => all(sql, values)),
      (sql, values) => once(sql, () => run(sql, values)),
    ),
    transaction: (_area, work) => groups.run(() => work(inTransaction)),
    close: async () => {
      await upkeep?.close();
      groups.close();
      await inTurn(async () => {
        statements.clear();
        await disk.close();
        emptyLog(db);
        db.close();
      });
    },
  };
}

async function open(file: string, use: ConnectionUse, checkpointPages: number): Promise<SqliteConnection> {
  const fault = await pairFault(file);
  if (fault !== null) throw new DamagedStoreError(fault);
  // SQLite gives its -wal and -shm files the mode of this file.
  makeFile(file);
  const db = await whileBusy(() => connect(file, checkpointPages));
  const damage = use === 'service' ? quickFault(db, file) : null;
  if (damage === null) return db;
  db.close();
  throw new DamagedStoreError(`it is damaged: ${damage}`);
}

/**
 * SQLite's own waiting (`busy_timeout`) blocks the thread. It also does not wait when a connection raises its lock: of several processes
 * that switch a new file to WAL at the same time, all but one fail at once. So SQLite never waits here; `whileBusy` does.
 */
function connect(file: string, checkpointPages: number): SqliteConnection {
  const db = new SqliteDatabase(file);
  try {
    db.pragma('busy_timeout = 0');
    db.pragma('journal_mode = WAL');
    // Not FULL: `WalSync` makes commits durable without blocking the thread.
    db.pragma('synchronous = NORMAL');
    db.pragma('foreign_keys = ON');
    db.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Runs calls one after the other, in the order in which they were made. */
function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return (work) => {
    if (waiting >= maxWaiting)
      return Promise.reject(new StoreUnavailableError(new Error(`${maxWaiting} calls wait for the store already`)));
    waiting++;
    const turn = last
      .then(work)
      .catch((error: unknown) => {
        throw faultOf(error);
      })
      .finally(() => waiting--);
    // The caller gets the error through `turn`. The next call runs anyway.
    last = turn.catch(() => undefined);
    return turn;
  };
}
