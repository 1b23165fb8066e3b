import { createHash } from 'node:crypto';
import { Pool, types, type PoolClient } from 'pg';
import { StoreAwayError } from '../store-away.ts';
import type { Area, Database, Dialect, Sql, SqlRow, SqlValue } from './database.ts';

/** Connections of one process. */
const maxConnections = 8;
/** Calls that wait for a connection; one more is refused. */
const maxWaiting = 1_000;
/** How long a connection may take to come, and a statement to be answered, milliseconds. */
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 5_000;
/** Where the server does not even tell that it gave up: a cut line, a machine that is gone. */
const answerTimeoutMs = statementTimeoutMs + 1_000;
/** A transaction whose process hangs is undone by the server, so that it does not keep the others out, milliseconds. */
const idleInTransactionMs = 10_000;
const idleTimeoutMs = 60_000;

/** First number of our advisory locks, "slui"; the second is the area's. */
const lockClass = 0x736c7569;
const lockOf: Readonly<Record<Area, number>> = { migrations: 1, accounts: 2, wallets: 3, 'one-time': 4, orders: 5, 'operator log': 6 };
/** The lowest bits of a lock's number are the area's, those above them a key's. */
const areaBits = 8;

/** Keys that share a number wait for each other without need, and that is all. */
function lockNumber(area: Area, key: string | undefined): number {
  if (key === undefined) return lockOf[area];
  return (createHash('sha256').update(key).digest().readInt32BE() << areaBits) | lockOf[area];
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
};

/**
 * PostgreSQL at a `postgres://` address. A connection that breaks is replaced with the next call; what it was doing rejects.
 * Rejects where the server does not answer, does not let us in, or confirms what is not on its disk; the error names neither address
 * nor password.
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
      // Every column of ours holds times, counts and versions, all below 2^53; the readers check it.
      getTypeParser: (oid, format) => (oid === types.builtins.INT8 && format !== 'binary' ? Number : types.getTypeParser(oid, format)),
    },
  });
  // A resting connection broke, and the pool has dropped it. Where the server stays away, the next call tells.
  pool.on('error', () => undefined);
  // One broke while it was lent, which the pool does not hear: whoever has it is told by his own call. Unheard it would end the process.
  pool.on('connect', (lent) => void lent.on('error', () => undefined));
  const client = async (): Promise<PoolClient> => {
    if (pool.waitingCount >= maxWaiting) throw new StoreAwayError(new Error(`${maxWaiting} calls wait for the store already`));
    return pool.connect().catch((error: unknown) => {
      throw new StoreAwayError(error);
    });
  };
  const once = async (sql: string, values: readonly SqlValue[]): Promise<Answer> => {
    const one = await client();
    let broken = true;
    try {
      const answer = await ask(one, sql, values);
      broken = false;
      return answer;
    } catch (error) {
      broken = !isRefusal(error) || isReadOnly(error);
      throw faultOf(error, broken);
    } finally {
      one.release(broken);
    }
  };
  const db: Database = {
    dialect,
    ...sqlOver(once),
    transaction: async (area, work, key) => {
      const one = await client();
      const sql = sqlOver((text, values) => ask(one, text, values));
      let broken = true;
      try {
        await ask(one, 'BEGIN', []);
        await ask(one, 'SELECT pg_advisory_xact_lock(?, ?)', [lockClass, lockNumber(area, key)]);
        const result = await work(sql);
        await ask(one, 'COMMIT', []);
        broken = false;
        return result;
      } catch (error) {
        broken = !(await rollBack(one)) || isReadOnly(error);
        throw faultOf(error, broken);
      } finally {
        one.release(broken);
      }
    },
    close: () => pool.end(),
  };
  try {
    const settings = await db.get("SELECT current_setting('synchronous_commit') AS commit");
    // What was told as stored would be gone with the server: an order that was sent, or that a key was revoked.
    if (settings?.['commit'] === 'off') throw new Error('its setting synchronous_commit is off, so that it forgets what it has confirmed');
  } catch (error) {
    await pool.end();
    throw error;
  }
  return db;
}

interface Answer {
  readonly rows: readonly SqlRow[];
  readonly changed: number;
}

function sqlOver(askFor: (sql: string, values: readonly SqlValue[]) => Promise<Answer>): Sql {
  return {
    get: async (sql, ...values) => (await askFor(sql, values)).rows[0] ?? null,
    all: async (sql, ...values) => (await askFor(sql, values)).rows,
    run: async (sql, ...values) => (await askFor(sql, values)).changed,
  };
}

async function ask(client: PoolClient, sql: string, values: readonly SqlValue[]): Promise<Answer> {
  const { rows, rowCount } = await client.query<SqlRow>(numbered(sql), values.map(bound));
  return { rows, changed: rowCount ?? 0 };
}

/** `$1`, `$2` … where SQLite's words have `?`; no statement of ours has a question mark in a text. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll('?', () => `$${++count}`);
}

function bound(value: SqlValue): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** Whether the connection is as good as before. */
async function rollBack(client: PoolClient): Promise<boolean> {
  return client.query('ROLLBACK').then(
    () => true,
    // It broke, which is why the transaction did: the server undoes it by itself.
    () => false,
  );
}

/** The server answered with an error (an SQLSTATE that is no end of the connection): the connection is good. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR';
}

/** The server takes nothing: it is a copy, or has become one. The next connection may lead to the one that does. */
function isReadOnly(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === readOnlyTransaction;
}
const readOnlyTransaction = '25006';

/** Classes of SQLSTATE by which the server says that it cannot at present: connections, others' locks, resources, an operator or a time limit. */
const awayStates: ReadonlySet<string> = new Set(['08', '40', '53', '57']);

/** What the caller is told of a failure: that the store is away, or the failure itself, which is a bug. */
function faultOf(error: unknown, broken: boolean): unknown {
  const state = error instanceof Error && 'code' in error ? String(error.code).slice(0, 2) : '';
  return broken || awayStates.has(state) ? new StoreAwayError(error) : error;
}
