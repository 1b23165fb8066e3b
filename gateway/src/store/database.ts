import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Libsql from 'libsql';
import { makeFolder } from './make-folder.ts';

export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, unknown>>;

/** SQLite in a file, shared with other processes. */
export interface Database {
  get(sql: string, ...values: readonly SqlValue[]): SqlRow | null;
  all(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[];
  /** Returns how many rows changed. */
  run(sql: string, ...values: readonly SqlValue[]): number;
  exec(script: string): void;
  /** Runs `work` while no other process writes; a throw undoes all of it. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** How long a writer waits for another process before it gives up, milliseconds. */
const busyTimeoutMs = 5000;

/** Opens or makes the file, readable by its owner only. Throws where the file is no database or cannot be opened. */
export function openDatabase(file: string): Database {
  makeFolder(dirname(file));
  // SQLite gives the files beside it (-wal, -shm) the mode of this one.
  closeSync(openSync(file, 'a', 0o600));
  const db = new Libsql(file);
  // First of all: even switching to WAL waits for other processes.
  db.pragma(`busy_timeout = ${busyTimeoutMs}`);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');

  const statements = new Map<string, Libsql.Statement>();
  const prepare = (sql: string): Libsql.Statement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    get: (sql, ...values) => (prepare(sql).get(...values) as SqlRow | undefined) ?? null,
    all: (sql, ...values) => prepare(sql).all(...values) as SqlRow[],
    run: (sql, ...values) => prepare(sql).run(...values).changes,
    exec: (script) => void db.exec(script),
    transaction: (work) => db.transaction(work).immediate(),
    close: () => {
      statements.clear();
      db.close();
    },
  };
}

/** The bytes of a BLOB column. */
export function blob(value: unknown): Uint8Array {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof Uint8Array) return value;
  throw new TypeError('expected a BLOB column');
}

export function text(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError('expected a TEXT column');
}

export function textOrNull(value: unknown): string | null {
  return value === null ? null : text(value);
}

export function integer(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new TypeError('expected an INTEGER column');
}

export function integerOrNull(value: unknown): number | null {
  return value === null ? null : integer(value);
}
