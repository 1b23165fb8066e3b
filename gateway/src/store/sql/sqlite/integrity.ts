import type { SqliteConnection } from '../../libsql.ts';
import { statSync } from 'node:fs';
import { reasonOf, StoreUnavailableError } from '../../store-unavailable.ts';

/** At a start the whole file is checked up to this size, which takes up to a second (0.5 s for 256 MB in memory). */
const wholeFileBytes = 256 * 1024 * 1024;
/** Tables that grow with the number of orders. In a larger file they are not checked at a start. */
const growingTables = new Set(['orders', 'order_events', 'order_keys']);
/** Findings of a full check. */
const maxFindings = 5;

/** What is wrong with a database file, and what to do. */
export class DamagedStoreError extends Error {
  constructor(what: string) {
    super(`${what}. Nothing was changed. ${remedy}`);
  }
}

const remedy = 'Stop all processes that use the store, and restore a backup: sluice restore FILE';

/** Whether SQLite found that the file is no database, or a damaged one. */
export function isDamage(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return isDamage(error.cause);
  return error instanceof Error && 'code' in error && /^SQLITE_(CORRUPT|NOTADB)/.test(String(error.code));
}

/** The error itself, or a `DamagedStoreError` if it is about damage. */
export function asDamage(error: unknown): unknown {
  return isDamage(error) ? new DamagedStoreError(reasonOf(error)) : error;
}

/**
 * Checks the form of every page in a file of usual size; in a larger one, of the tables without which nobody can sign in or trade. It
 * does not compare indexes with their tables; `fullFault` does. Null: nothing is wrong.
 */
export function quickFault(db: SqliteConnection, file: string): string | null {
  return faultOf(() => {
    const { size } = statSync(file);
    if (size <= wholeFileBytes) return findings(db, 'quick_check(1)');
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as readonly { readonly name: string }[];
    return tables.filter(({ name }) => !growingTables.has(name)).flatMap(({ name }) => findings(db, `quick_check('${name}')`));
  });
}

/** Checks every page, and that the indexes have what their tables have. Takes about 5 s for 1 GB. Null: nothing is wrong. */
export function fullFault(db: SqliteConnection): string | null {
  return faultOf(() => findings(db, `integrity_check(${maxFindings})`));
}

function faultOf(check: () => readonly string[]): string | null {
  try {
    const found = check();
    return found.length === 0 ? null : found.slice(0, maxFindings).join('; ');
  } catch (error) {
    if (isDamage(error)) return (error as Error).message;
    throw error;
  }
}

function findings(db: SqliteConnection, check: string): readonly string[] {
  const rows = db.pragma(check) as readonly Readonly<Record<string, unknown>>[];
  return rows.flatMap((row) => Object.values(row).map(String)).filter((line) => line !== 'ok');
}
