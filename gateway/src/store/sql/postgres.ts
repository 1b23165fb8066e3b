import { createHash } from 'node:crypto';
import { Pool, types, type PoolClient, type QueryResult } from 'pg';
import { isCode } from '../files/files.ts';
import { StoreUnavailableError } from '../store-unavailable.ts';
import { sqlOf, type Area, type Database, type Dialect, type Sql, type SqlRow, type SqlValue } from './database.ts';

/** Connections of one process. */
const maxConnections = 8;
/** Maximum number of calls that wait for a connection. A further one is refused. */
const maxWaiting = 1_000;
/** How long opening a connection, and one statement, may take. */
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 5_000;
/** When to stop waiting if the server does not report its own timeout, because the connection or the machine is dead. */
const answerTimeoutMs = statementTimeoutMs + 1_000;
/** After this pause in a transaction the server rolls it back, so that a process that hangs does not block the others. */
const idleInTransactionMs = 10_000;
const idleTimeoutMs = 60_000;

/** First number of our advisory locks ("slui"). The second number is the area's. */
const lockClass = 0x736c7569;
const lockOf: Readonly<Record<Area, number>> = {
  migrations: 1,
  accounts: 2,
  wallets: 3,
  'one-time': 4,
  orders: 5,
  'operator log': 6,
  positions: 9,
  time: 7,
  triggers: 8,
};
/** How many of the lowest bits of the second number hold the area. The bits above hold the hash of the key. */
const areaBits = 8;

/** Two keys can have the same number. Their transactions then wait for each other, which does no harm. In a fixed order, so that two cannot deadlock. */
function lockNumbers(area: Area, keys: readonly string[]): readonly number[] {
  if (keys.length === 0) return [lockOf[area]];
  return keys.map((key) => (createHash('sha256').update(key).digest().readInt32BE() << areaBits) | lockOf[area]).toSorted((a, b) => a - b);
}

const dialect: Dialect = {
  layout: (script) =>
    script
      .replaceAll(/\bBLOB\b/g, 'BYTEA')
      .replaceAll(/\bINTEGER\b/g, 'BIGINT')
      .replaceAll(/\) STRICT\b/g, ')')
      .split(';')
      .flatMap((statement) => (statement.trim() === '' ? [] : [statement.trim()])),
  jsonPairs: 'json_each_text(CAST(? AS json))',
  clock: 'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS ms',
};

/**
 * Opens PostgreSQL at a `postgres://` address. When a connection breaks, its call rejects, and the next call opens another. Rejects if
 * the server does not answer, refuses the login, or confirms commits before they are on its disk. The error contains neither the
 * address nor the password.
 */
export async function openPostgres(url: string): Promise<Database> {
  const pool = new Pool({
    connectionString: url,
    max: maxConnections,
    application_name: 'sluice',
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    types: {
      // All our columns of this type are times, counts and versions below 2^53. The functions that read them check it.
      getTypeParser: (oid, format) => (oid === types.builtins.INT8 && format !== 'binary' ? Number : types.getTypeParser(oid, format)),
    },
  });
  // An idle connection broke, and the pool has dropped it. If the server is unavailable, the next call rejects.
  pool.on('error', () => undefined);
  // A connection broke while it was in use. Its call rejects; without a listener, the event would end the process.
  pool.on('connect', (lent) => void lent.on('error', () => undefined));
  const client = async (): Promise<PoolClient> => {
    if (pool.waitingCount >= maxWaiting) throw new StoreUnavailableError(new Error(`${maxWaiting} calls wait for the store already`));
    return pool.connect().catch((error: unknown) => {
      throw new StoreUnavailableError(error);
    });
  };
  /** `recover` makes the connection usable after an error. False: it cannot be used any more. */
  const withClient = async <T>(
    work: (one: PoolClient) => Promise<T>,
    recover: (one: PoolClient, error: unknown) => boolean | Promise<boolean>,
  ): Promise<T> => {
    const one = await client();
    let broken = true;
    try {
      const result = await work(one);
      broken = false;
      return result;
    } catch (error) {
      broken = !(await recover(one, error)) || isReadOnly(error);
      throw faultOf(error, broken);
    } finally {
      one.release(broken);
    }
  };
  const once: Ask = (sql, values) =>
    withClient(
      (one) => ask(one, sql, values),
      (_one, error) => isStatementError(error),
    );
  const db: Database = {
    dialect,
    ...sqlOver(once),
    transaction: (area, work, ...keys) =>
      withClient(async (one) => {
        await ask(one, 'BEGIN');
        // The server takes them from left to right.
        const locks = lockNumbers(area, keys).map((lock) => `pg_advisory_xact_lock(${lockClass}, ${lock})`);
        await ask(one, `SELECT ${locks.join(', ')}`);
        const result = await work(sqlOver((text, values) => ask(one, text, values)));
        await ask(one, 'COMMIT');
        return result;
      }, rollBack),
    close: () => pool.end(),
  };
  try {
    const settings = await db.get("SELECT current_setting('synchronous_commit') AS commit");
    // A crash of the server could otherwise lose a confirmed commit: an order that was sent, or the revocation of a key.
    if (settings?.['commit'] === 'off')
      throw new Error('synchronous_commit is off, so a crash of the server can lose confirmed data: turn it on');
  } catch (error) {
    await pool.end();
    throw error;
  }
  return db;
}

type Ask = (sql: string, values: readonly SqlValue[]) => Promise<QueryResult<SqlRow>>;

function sqlOver(askFor: Ask): Sql {
  return sqlOf(
    async (sql, values) => (await askFor(sql, values)).rows,
    async (sql, values) => (await askFor(sql, values)).rowCount ?? 0,
  );
}

function ask(client: PoolClient, sql: string, values: readonly SqlValue[] = []): ReturnType<Ask> {
  return client.query<SqlRow>(numbered(sql), values.map(bound));
}

/** Replaces each `?` by `$1`, `$2` … No statement of ours has a question mark in a string. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll('?', () => `$${++count}`);
}

function bound(value: SqlValue): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** Returns whether the connection can still be used. If it is broken, the server rolls back by itself. */
function rollBack(client: PoolClient): Promise<boolean> {
  return client.query('ROLLBACK').then(Boolean, () => false);
}

/** Whether the server answered with an error that leaves the connection usable. */
function isStatementError(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR';
}

/** Whether the server refuses writes because it is a replica. The next connection may reach the primary. */
function isReadOnly(error: unknown): boolean {
  return isCode(error, '25006');
}

/** Classes of SQLSTATE for temporary failures: connection, rolled-back transaction, resources, operator or time limit. */
const unavailableStates: ReadonlySet<string> = new Set(['08', '40', '53', '57']);

/** The error for the caller: a `StoreUnavailableError` for a temporary failure. Any other error is a bug and is returned as it is. */
function faultOf(error: unknown, broken: boolean): unknown {
  const state = error instanceof Error && 'code' in error ? String(error.code).slice(0, 2) : '';
  return broken || unavailableStates.has(state) ? new StoreUnavailableError(error) : error;
}
