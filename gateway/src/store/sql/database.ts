export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, unknown>>;

/** Statements in the SQL that SQLite and PostgreSQL share; values stand as `?`. */
export interface Sql {
  /** The first row; null where there is none. */
  get(sql: string, ...values: readonly SqlValue[]): Promise<SqlRow | null>;
  all(sql: string, ...values: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Returns how many rows changed. */
  run(sql: string, ...values: readonly SqlValue[]): Promise<number>;
}

/** What transactions keep others out of. */
export type Area = 'migrations' | 'accounts' | 'wallets' | 'one-time' | 'orders' | 'operator log';

/** A database that several processes share. Every method rejects where it does not answer in time. */
export interface Database extends Sql {
  readonly dialect: Dialect;
  /**
   * Runs `work` while nobody else, in whatever process, runs a transaction of this area; what others have written is seen, and
   * a throw undoes all of it. `work` awaits nothing but `sql`. With a `key`, only transactions of this area with the same key are
   * kept out for certain, and rows that others change are waited for one by one.
   */
  transaction<T>(area: Area, work: (sql: Sql) => Promise<T>, key?: string): Promise<T>;
  close(): Promise<void>;
}

/** Where the two differ. */
export interface Dialect {
  /** Statements of a layout, as they are written for SQLite, one by one. */
  layout(script: string): readonly string[];
  /** A table of `key` and `value`, both text, made of a JSON object that is given as one value. */
  readonly jsonPairs: string;
}

/** The bytes of a BLOB column. */
export function blob(value: unknown): Uint8Array {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  // A copy: what a driver hands over may be a view of something larger.
  if (value instanceof Uint8Array) return new Uint8Array(value);
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

/** The one number of a `SELECT count(*) AS count …`. */
export async function countOf(sql: Sql, statement: string, ...values: readonly SqlValue[]): Promise<number> {
  return integer((await sql.get(statement, ...values))?.['count']);
}
