import type { Sql, SqlRow, SqlValue } from './database.ts';

/** How a property of an object is stored in a column. */
export interface Column<T> {
  /** Throws if the column has another type. Undefined: this version does not know the value. */
  read(stored: unknown): T | undefined;
  write(value: T): SqlValue;
  /** The name of the column, if it is not the name of the property in snake case. */
  readonly name?: string;
}

export const text = {
  read: (stored: unknown): string => {
    if (typeof stored === 'string') return stored;
    throw new TypeError('expected a TEXT column');
  },
  write: (value: string): SqlValue => value,
};

export const integer = {
  read: (stored: unknown): number => {
    if (typeof stored === 'number' && Number.isSafeInteger(stored)) return stored;
    throw new TypeError('expected an INTEGER column');
  },
  write: (value: number): SqlValue => value,
};

export const blob = {
  read: (stored: unknown): Uint8Array => {
    if (stored instanceof ArrayBuffer) return new Uint8Array(stored);
    // Copied, because a driver may return a view of a larger buffer.
    if (stored instanceof Uint8Array) return new Uint8Array(stored);
    throw new TypeError('expected a BLOB column');
  },
  write: (value: Uint8Array): SqlValue => value,
};

/** 0 or 1. */
export const flag: Column<boolean> = { read: (stored) => integer.read(stored) !== 0, write: Number };

/** An amount that may exceed 2^53, as text. */
export const amount: Column<bigint> = { read: (stored) => BigInt(text.read(stored)), write: String };

export function json<T>(): Column<T> {
  return { read: (stored) => JSON.parse(text.read(stored)) as T, write: (value) => JSON.stringify(value) };
}

/** Texts without commas, in one column. */
export const list = {
  read: (stored: unknown): readonly string[] => (stored === '' ? [] : text.read(stored).split(',')),
  write: (values: readonly string[]): SqlValue => values.join(','),
};

export function oneOf<T extends string>(values: readonly T[]): Column<T> {
  return { read: (stored) => values.find((value) => value === stored), write: (value) => value };
}

export function nullable<T>(column: Column<T>): Column<T | null> {
  return {
    read: (stored) => (stored === null ? null : column.read(stored)),
    write: (value) => (value === null ? null : column.write(value)),
  };
}

/** A table whose rows are read and written as objects. */
export class Table<Row extends object> {
  readonly #name: string;
  readonly #columns: readonly (readonly [property: keyof Row, name: string, column: Column<unknown>])[];

  /** The first column identifies a row in errors. A table may have further columns. */
  constructor(name: string, columns: { readonly [Property in keyof Row]: Column<Row[Property]> }) {
    this.#name = name;
    this.#columns = Object.entries<Column<unknown>>(columns).map(([property, column]) => {
      const snakeCase = property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [property as keyof Row, column.name ?? snakeCase, column];
    });
  }

  read(row: SqlRow): Row {
    const object: Partial<Row> = {};
    for (const [property, name, column] of this.#columns) {
      const value = column.read(row[name]);
      if (value === undefined) throw new Error(`${this.#nameOf(row)} is stored with a ${name} that this version does not know`);
      object[property] = value as Row[typeof property];
    }
    return object as Row;
  }

  /** The first row of `SELECT * FROM <table> <rest>`. Null: no rows. */
  async one(sql: Sql, rest: string, ...values: readonly SqlValue[]): Promise<Row | null> {
    const row = await sql.get(`SELECT * FROM ${this.#name} ${rest}`, ...values);
    return row === null ? null : this.read(row);
  }

  async all(sql: Sql, rest: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return (await sql.all(`SELECT * FROM ${this.#name} ${rest}`, ...values)).map((row) => this.read(row));
  }

  /** The values of the columns whose properties are given. */
  write(object: Partial<Row>): Readonly<Record<string, SqlValue>> {
    const values: Record<string, SqlValue> = {};
    for (const [property, name, column] of this.#columns) if (object[property] !== undefined) values[name] = column.write(object[property]);
    return values;
  }

  #nameOf(row: SqlRow): string {
    return `${String(row[this.#columns[0]![1]])} in ${this.#name}`;
  }
}

/** The objects in the rows of a table. */
export type RowOf<Of> = Of extends Table<infer Row> ? Readonly<Row> : never;

/** Inserts one row, with `more` at the end of the statement. Returns how many rows were inserted or changed. */
export function insertRow(sql: Sql, table: string, values: Readonly<Record<string, SqlValue>>, more = ''): Promise<number> {
  const names = Object.keys(values);
  const statement = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ${more}`;
  return sql.run(statement, ...Object.values(values));
}

/** The result of a `SELECT count(*) AS count …`. */
export async function countOf(sql: Sql, statement: string, ...values: readonly SqlValue[]): Promise<number> {
  return integer.read((await sql.get(statement, ...values))?.['count']);
}
