export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs statements in the SQL that SQLite and PostgreSQL share. Each `?` is replaced by a value. */
export interface Sql {
  /** The first row. Null: no rows. */
  get(sql: string, ...values: readonly SqlValue[]): Promise<SqlRow | null>;
  all(sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Returns how many rows changed. */
  run(sql: string, ...values: readonly SqlValue[]): Promise<number>;
}

/** What a transaction locks. Transactions of one area run one after the other. */
export type Area = 'migrations' | 'accounts' | 'wallets' | 'one-time' | 'orders' | 'triggers' | 'operator log' | 'time' | 'positions';

/** A database that several processes share. All methods reject if it does not answer in time. */
export interface Database extends Sql {
  readonly dialect: Dialect;
  /**
   * Runs `work` in a transaction. No process runs another transaction of this area meanwhile. `work` sees what earlier ones committed;
   * if it throws, everything is rolled back. `work` may await only `sql`. With `keys`, only transactions of the area that have one of
   * these keys are certain to wait; others may run at the same time, and wait only for rows that both change.
   */
  transaction<T>(area: Area, work: (sql: Sql) => Promise<T>, ...keys: readonly string[]): Promise<T>;
  close(): Promise<void>;
}

/** The differences between SQLite and PostgreSQL. */
export interface Dialect {
  /** Splits a layout script, written for SQLite, into statements for this database. */
  layout(script: string): readonly string[];
  /** An expression that turns a JSON object, given as one value, into a table with the text columns `key` and `value`. */
  readonly jsonPairs: string;
  /** Reads the database's own clock as `ms`, Unix milliseconds. Null: the database has none, because it runs in this process. */
  readonly clock: string | null;
}

/** The statements of `Sql` by two functions. */
export function sqlOf(
  all: (sql: string, values: readonly SqlValue[]) => Promise<readonly SqlRow[]>,
  run: (sql: string, values: readonly SqlValue[]) => Promise<number>,
): Sql {
  return {
    get: async (sql, ...values) => (await all(sql, values))[0] ?? null,
    all: (sql, ...values) => all(sql, values),
    run: (sql, ...values) => run(sql, values),
  };
}
