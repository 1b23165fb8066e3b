import type { SqliteConnection } from '../libsql.ts';

/** What a copy of the store has. */
export type CopySummary = NonNullable<ReturnType<typeof summaryOf>>;

/** Null: it is not a store of sluice. Throws SQLite's error if the file is no database. */
export function summaryOf(db: SqliteConnection) {
  const schema = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { readonly name: string }[];
  const tables = new Set(schema.map(({ name }) => name));
  if (!tables.has('migrations') || !tables.has('api_keys')) return null;
  const number = (table: string, value: string, where = ''): number | null => {
    if (!tables.has(table)) return null;
    const [row] = db.prepare(`SELECT ${value} AS value FROM ${table} ${where}`).all() as { readonly value: number | null }[];
    return row?.value ?? null;
  };
  const count = (table: string, where?: string): number => number(table, 'count(*)', where) ?? 0;
  return {
    /** The number of the newest migration. */
    layout: number('migrations', 'max(step)') ?? 0,
    keys: count('api_keys', 'WHERE revoked_at_ms IS NULL'),
    wallets: count('wallets'),
    orders: count('orders'),
    openOrders: count('orders', 'WHERE ended = 0'),
    /** Triggers that have not ended. */
    openTriggers: count('triggers', 'WHERE ended = 0'),
    /** When an order was last changed. Null: it has no order. */
    lastChangeAtMs: number('orders', 'max(updated_at_ms)'),
  };
}
