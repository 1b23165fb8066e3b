import { operatorAccountId } from './tables/accounts.ts';
import { countOf, insertRow, integer } from './columns.ts';
import type { Database, Sql } from './database.ts';

/**
 * The store's layout changes in two ways, in SQLite's SQL. What was released is never changed.
 *
 * Steps: a version refuses a store with a step that it does not know. So a step makes it impossible to go back to the release before, and to
 * run both at the same time. A step may only remove what the release before does not use any more.
 *
 * Additions: a version ignores additions that it does not know. So they must not disturb the statements of the release before: a new table, a
 * new index that is not unique, or a new column that may be null or has a default. `test/upgrade/released-store.test.ts` runs the
 * statements of the release before on the store with all additions.
 */
const steps: readonly string[] = [
  `CREATE TABLE versions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
   INSERT INTO versions (name, value) VALUES ('api_keys', 0);

   CREATE TABLE api_keys (
     id TEXT PRIMARY KEY,
     plan TEXT NOT NULL,
     scopes TEXT NOT NULL,
     label TEXT,
     created_at_ms INTEGER NOT NULL,
     revoked_at_ms INTEGER
   ) STRICT;
   CREATE TABLE api_key_secrets (
     key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
     number INTEGER NOT NULL,
     hash BLOB NOT NULL,
     created_at_ms INTEGER NOT NULL,
     ends_at_ms INTEGER,
     PRIMARY KEY (key_id, number)
   ) STRICT;

   CREATE TABLE keystores (name TEXT PRIMARY KEY, salt BLOB NOT NULL, proof BLOB NOT NULL, created_at_ms INTEGER NOT NULL) STRICT;
   CREATE TABLE wallets (
     keystore TEXT NOT NULL REFERENCES keystores (name),
     public_key TEXT NOT NULL,
     label TEXT,
     imported INTEGER NOT NULL,
     sealed_seed BLOB NOT NULL,
     created_at_ms INTEGER NOT NULL,
     PRIMARY KEY (keystore, public_key)
   ) STRICT;`,

  `CREATE TABLE checks (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;

   CREATE TABLE accounts (
     id TEXT PRIMARY KEY,
     kind TEXT NOT NULL,
     wallet TEXT UNIQUE,
     plan TEXT NOT NULL,
     created_at_ms INTEGER NOT NULL,
     disabled_at_ms INTEGER,
     last_sign_in_at_ms INTEGER
   ) STRICT;

   ALTER TABLE api_keys ADD COLUMN account_id TEXT REFERENCES accounts (id);
   ALTER TABLE api_keys ADD COLUMN ip_ranges TEXT NOT NULL DEFAULT '';
   ALTER TABLE api_keys ADD COLUMN limits TEXT;
   ALTER TABLE api_keys ADD COLUMN last_used_at_ms INTEGER;
   ALTER TABLE api_keys ADD COLUMN removed_at_ms INTEGER;
   ALTER TABLE api_keys ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX api_keys_by_version ON api_keys (version, id);
   CREATE INDEX api_keys_by_account ON api_keys (account_id);

   CREATE TABLE sessions (
     token_hash BLOB PRIMARY KEY,
     account_id TEXT NOT NULL REFERENCES accounts (id),
     csrf_hash BLOB NOT NULL,
     created_at_ms INTEGER NOT NULL,
     expires_at_ms INTEGER NOT NULL,
     last_seen_at_ms INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX sessions_by_account ON sessions (account_id);
   CREATE INDEX sessions_by_end ON sessions (expires_at_ms);

   CREATE TABLE one_time (
     kind TEXT NOT NULL,
     hash BLOB NOT NULL,
     account_id TEXT REFERENCES accounts (id),
     expires_at_ms INTEGER NOT NULL,
     PRIMARY KEY (kind, hash)
   ) STRICT;
   CREATE INDEX one_time_by_end ON one_time (kind, expires_at_ms);`,

  `ALTER TABLE accounts ADD COLUMN last_nonce INTEGER;
   DELETE FROM one_time WHERE kind = 'nonce';`,

  `ALTER TABLE wallets ADD COLUMN account_id TEXT REFERENCES accounts (id);

   CREATE TABLE trading_halt (id INTEGER PRIMARY KEY, halted INTEGER NOT NULL, reason TEXT, changed_at_ms INTEGER NOT NULL) STRICT;
   INSERT INTO trading_halt (id, halted, reason, changed_at_ms) VALUES (1, 0, NULL, 0);

   CREATE TABLE audit_heads (log_id TEXT PRIMARY KEY, lines INTEGER NOT NULL, mac BLOB NOT NULL, noted_at_ms INTEGER NOT NULL) STRICT;`,

  `CREATE TABLE orders (
     id TEXT PRIMARY KEY,
     owner TEXT NOT NULL,
     kind TEXT NOT NULL,
     key_id TEXT NOT NULL,
     account_id TEXT,
     state TEXT NOT NULL,
     ended INTEGER NOT NULL,
     terms TEXT,
     quote TEXT,
     signature TEXT,
     signed_bytes BLOB,
     blockhash TEXT,
     last_valid_block_height INTEGER,
     fill TEXT,
     error_code TEXT,
     error_message TEXT,
     error_details TEXT,
     timing TEXT,
     created_at_ms INTEGER NOT NULL,
     updated_at_ms INTEGER NOT NULL,
     version INTEGER NOT NULL,
     followed_by TEXT NOT NULL,
     spend_wallet TEXT,
     spend_day INTEGER,
     spend_lamports INTEGER,
     UNIQUE (signature, owner)
   ) STRICT;
   CREATE INDEX orders_by_owner ON orders (owner, id);
   CREATE INDEX orders_by_state ON orders (owner, state, id);
   CREATE INDEX orders_open ON orders (followed_by, id) WHERE ended = 0;
   CREATE INDEX orders_ended ON orders (updated_at_ms) WHERE ended = 1;
   CREATE TABLE order_events (
     order_id TEXT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
     version INTEGER NOT NULL,
     state TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     changed TEXT NOT NULL,
     PRIMARY KEY (order_id, version)
   ) STRICT;
   CREATE TABLE order_keys (
     owner TEXT NOT NULL,
     endpoint TEXT NOT NULL,
     idempotency_key TEXT NOT NULL,
     fingerprint BLOB NOT NULL,
     order_id TEXT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
     used_at_ms INTEGER NOT NULL,
     PRIMARY KEY (owner, endpoint, idempotency_key)
   ) STRICT;
   CREATE INDEX order_keys_by_use ON order_keys (used_at_ms);
   CREATE INDEX order_keys_by_order ON order_keys (order_id);
   CREATE TABLE order_followers (gateway_id TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) STRICT;
   CREATE TABLE order_spend (
     wallet TEXT NOT NULL,
     day INTEGER NOT NULL,
     lamports INTEGER NOT NULL,
     PRIMARY KEY (wallet, day)
   ) STRICT;`,

  `CREATE UNIQUE INDEX orders_by_own_message ON orders (signature) WHERE kind = 'lightning';`,

  // The chain of older orders is unknown. They keep NULL, and no gateway follows them.
  `ALTER TABLE orders ADD COLUMN genesis_hash TEXT;`,

  // The machine of older logs is unknown. They keep NULL.
  `ALTER TABLE audit_heads ADD COLUMN place TEXT;

   CREATE TABLE operator_log (
     n INTEGER PRIMARY KEY,
     at_ms INTEGER NOT NULL,
     os_user TEXT NOT NULL,
     command TEXT NOT NULL,
     subject TEXT NOT NULL
   ) STRICT;`,

  `CREATE TABLE default_wallets (
     key_id TEXT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
     keystore TEXT NOT NULL,
     public_key TEXT NOT NULL,
     PRIMARY KEY (key_id, keystore),
     FOREIGN KEY (keystore, public_key) REFERENCES wallets (keystore, public_key)
   ) STRICT;`,
];

const additions: readonly string[] = [
  // A key belongs to one request of its owner, also if that was sent to another endpoint.
  `CREATE INDEX order_keys_by_key ON order_keys (owner, idempotency_key);`,

  `CREATE TABLE IF NOT EXISTS running_hours (hour INTEGER PRIMARY KEY, ran_ms INTEGER NOT NULL, least_ms INTEGER NOT NULL) STRICT;`,

  `CREATE TABLE paper_wallets (
     wallet TEXT NOT NULL,
     genesis_hash TEXT NOT NULL,
     lamports TEXT NOT NULL,
     start_lamports TEXT NOT NULL,
     started_at_ms INTEGER NOT NULL,
     PRIMARY KEY (wallet, genesis_hash)
   ) STRICT;
   CREATE TABLE paper_accounts (
     wallet TEXT NOT NULL,
     genesis_hash TEXT NOT NULL,
     address TEXT NOT NULL,
     mint TEXT,
     token_program TEXT,
     amount TEXT NOT NULL,
     PRIMARY KEY (wallet, genesis_hash, address),
     FOREIGN KEY (wallet, genesis_hash) REFERENCES paper_wallets (wallet, genesis_hash) ON DELETE CASCADE
   ) STRICT;`,

  `CREATE TABLE triggers (
     id TEXT PRIMARY KEY,
     owner TEXT NOT NULL,
     key_id TEXT NOT NULL,
     account_id TEXT,
     genesis_hash TEXT,
     paper INTEGER NOT NULL,
     state TEXT NOT NULL,
     ended INTEGER NOT NULL,
     mint TEXT,
     public_key TEXT NOT NULL,
     terms TEXT NOT NULL,
     progress TEXT NOT NULL,
     watermark TEXT,
     parent_id TEXT,
     order_id TEXT,
     error_code TEXT,
     error_message TEXT,
     error_details TEXT,
     waiting_for TEXT,
     late INTEGER NOT NULL,
     cancel_asked INTEGER NOT NULL,
     created_at_ms INTEGER NOT NULL,
     updated_at_ms INTEGER NOT NULL,
     version INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX triggers_by_owner ON triggers (owner, id);
   CREATE INDEX triggers_by_mint ON triggers (owner, mint, id);
   CREATE INDEX triggers_open ON triggers (paper, id) WHERE ended = 0;
   CREATE INDEX triggers_open_by_owner ON triggers (owner) WHERE ended = 0;
   CREATE INDEX triggers_open_by_parent ON triggers (parent_id) WHERE ended = 0;
   CREATE INDEX triggers_ended ON triggers (updated_at_ms) WHERE ended = 1;
   CREATE TABLE trigger_keys (
     owner TEXT NOT NULL,
     idempotency_key TEXT NOT NULL,
     endpoint TEXT NOT NULL,
     fingerprint BLOB NOT NULL,
     trigger_id TEXT NOT NULL REFERENCES triggers (id) ON DELETE CASCADE,
     used_at_ms INTEGER NOT NULL,
     PRIMARY KEY (owner, idempotency_key)
   ) STRICT;
   CREATE INDEX trigger_keys_by_use ON trigger_keys (used_at_ms);
   CREATE INDEX trigger_keys_by_trigger ON trigger_keys (trigger_id);
   CREATE TABLE trigger_terms (
     paper INTEGER PRIMARY KEY,
     term INTEGER NOT NULL,
     log_epoch TEXT,
     log_offset INTEGER
   ) STRICT;`,

  `CREATE TABLE wallet_states (
     place TEXT NOT NULL,
     wallet TEXT NOT NULL,
     mint TEXT NOT NULL,
     state TEXT NOT NULL,
     PRIMARY KEY (place, wallet, mint)
   ) STRICT;
   CREATE TABLE wallet_terms (
     place TEXT PRIMARY KEY,
     term INTEGER NOT NULL,
     epoch TEXT,
     log_offset INTEGER,
     used_at_ms INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE wallet_follows (
     key_id TEXT NOT NULL,
     wallet TEXT NOT NULL,
     asked_at_ms INTEGER NOT NULL,
     PRIMARY KEY (key_id, wallet)
   ) STRICT;
   CREATE INDEX wallet_follows_by_time ON wallet_follows (asked_at_ms);
   ALTER TABLE orders ADD COLUMN counted_at_ms INTEGER;
   CREATE INDEX orders_not_counted ON orders (genesis_hash, kind, id) WHERE ended = 1 AND fill IS NOT NULL AND counted_at_ms IS NULL;`,
];

/** Steps that no release had. The first of them removed the endpoint of the keys, so the keys of such a store have none. */
const unreleasedSteps = '10, 11';
const undoUnreleased = `
  CREATE TABLE keys_with_endpoint (
    owner TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    order_id TEXT NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
    used_at_ms INTEGER NOT NULL,
    PRIMARY KEY (owner, endpoint, idempotency_key)
  ) STRICT;
  INSERT INTO keys_with_endpoint (owner, endpoint, idempotency_key, fingerprint, order_id, used_at_ms)
    SELECT owner, '', idempotency_key, fingerprint, order_id, used_at_ms FROM order_keys;
  DROP TABLE order_keys;
  ALTER TABLE keys_with_endpoint RENAME TO order_keys;
  CREATE INDEX order_keys_by_use ON order_keys (used_at_ms);
  CREATE INDEX order_keys_by_order ON order_keys (order_id);
  DELETE FROM migrations WHERE step IN (${unreleasedSteps});`;

/** The store has a step that this version does not know. */
export class NewerLayoutError extends Error {
  constructor(step: number) {
    super(`the store was written by a newer version of sluice (layout ${step}, this one knows ${steps.length})`);
  }
}

/**
 * Brings the store to the layout of this version. Of several processes at once, one does it. Rejects with a `NewerLayoutError` if this
 * version cannot use the store.
 */
export async function migrate(db: Database): Promise<void> {
  await db.transaction('migrations', async (sql) => {
    const run = async (script: string): Promise<void> => {
      for (const statement of db.dialect.layout(script)) await sql.run(statement);
    };
    await run(`CREATE TABLE IF NOT EXISTS migrations (step INTEGER PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT;
               CREATE TABLE IF NOT EXISTS additions (number INTEGER PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT`);
    const hasUnreleased = (await countOf(sql, `SELECT count(*) AS count FROM migrations WHERE step IN (${unreleasedSteps})`)) > 0;
    if (hasUnreleased) await run(undoUnreleased);
    const done = await newest(sql, 'step', 'migrations');
    if (done > steps.length) throw new NewerLayoutError(done);
    for (const [index, script] of steps.entries()) {
      if (index < done) continue;
      await run(script);
      await sql.run('INSERT INTO migrations (step, applied_at_ms) VALUES (?, ?)', index + 1, Date.now());
    }
    if (done < steps.length) await makeOperator(sql);
    const added = await newest(sql, 'number', 'additions');
    for (const [index, script] of additions.entries()) {
      if (index < added) continue;
      await run(script);
      await sql.run('INSERT INTO additions (number, applied_at_ms) VALUES (?, ?)', index + 1, Date.now());
    }
  });
}

async function newest(sql: Sql, column: string, table: string): Promise<number> {
  return integer.read((await sql.get(`SELECT coalesce(max(${column}), 0) AS newest FROM ${table}`))?.['newest']);
}

async function makeOperator(sql: Sql): Promise<void> {
  const operator = { id: operatorAccountId, kind: 'operator', plan: 'enterprise', created_at_ms: Date.now() };
  await insertRow(sql, 'accounts', operator, 'ON CONFLICT DO NOTHING');
}
