import { planNames, scopes } from '@sluice/shared/wire/values/plans.ts';
import {
  removedRetentionMs,
  keyLimitNames,
  maxKeys,
  maxKeysPerAccount,
  maxSecretsPerKey,
  type KeyInsertOutcome,
  type KeyLimits,
  type KeyTable,
  type NewKey,
  type NewSecret,
  type StoredKey,
  type StoredSecret,
} from '../../interfaces/key-table.ts';
import { storedBeforeMs } from '../running-hours.ts';
import { blob, countOf, integer, integerOrNull, text, textOrNull, type Database, type Sql, type SqlRow } from '../database.ts';

/** How long a revoked key is listed. It is deleted when a key is created after that. */
const revokedRetentionMs = 30 * 24 * 3_600_000;
/** Maximum number of rows of one account, including revoked and deleted keys, so that a user who creates and deletes keys cannot fill the store. */
const maxStoredKeysPerAccount = 5 * maxKeysPerAccount;

const select = `SELECT k.*, s.number, s.hash, s.created_at_ms AS secret_created_at_ms, s.ends_at_ms FROM`;
const withSecrets = 'LEFT JOIN api_key_secrets s ON s.key_id = k.id';

export function keyTable(db: Database): KeyTable {
  const change = <T>(work: (sql: Sql, version: number) => Promise<T>): Promise<T> =>
    db.transaction('accounts', async (sql) => work(sql, await nextKeyVersion(sql)));
  return {
    version: async () => integer((await db.get("SELECT value FROM versions WHERE name = 'api_keys'"))?.['value']),
    changed: async (after, limit) =>
      readKeys(
        await db.all(
          `${select} (SELECT * FROM api_keys WHERE (version, id) > (?, ?) ORDER BY version, id LIMIT ?) k ${withSecrets}
           ORDER BY k.version, k.id, s.number`,
          after.version,
          after.id,
          limit,
        ),
      ),
    all: async () =>
      readKeys(await db.all(`${select} api_keys k ${withSecrets} WHERE k.removed_at_ms IS NULL ORDER BY k.created_at_ms, k.id, s.number`)),
    byId: (id) => keyById(db, id),
    ofAccount: async (accountId) =>
      readKeys(
        await db.all(
          `${select} api_keys k ${withSecrets} WHERE k.account_id = ? AND k.removed_at_ms IS NULL
           ORDER BY k.created_at_ms, k.id, s.number`,
          accountId,
        ),
      ),
    countLive: () => countOf(db, 'SELECT count(*) AS count FROM api_keys WHERE revoked_at_ms IS NULL'),
    insert: (key) => change((sql, version) => insertKey(sql, version, key)),
    addSecret: (id, secret, othersEndAtMs) => change((sql, version) => addSecret(sql, version, id, secret, othersEndAtMs)),
    revoke: (id, atMs) =>
      change(async (sql, version) => {
        const revoke = 'UPDATE api_keys SET revoked_at_ms = ?, version = ? WHERE id = ? AND revoked_at_ms IS NULL';
        return (await sql.run(revoke, atMs, version, id)) > 0;
      }),
    revokeAll: (atMs) =>
      change((sql, version) => sql.run('UPDATE api_keys SET revoked_at_ms = ?, version = ? WHERE revoked_at_ms IS NULL', atMs, version)),
    remove: (id, atMs) =>
      change(async (sql, version) => {
        const remove = `UPDATE api_keys SET revoked_at_ms = coalesce(revoked_at_ms, ?), removed_at_ms = ?, version = ?
                        WHERE id = ? AND removed_at_ms IS NULL`;
        return (await sql.run(remove, atMs, atMs, version, id)) > 0;
      }),
    noteUses: async (usedAtMs) => {
      if (usedAtMs.size === 0) return;
      const note = `UPDATE api_keys SET last_used_at_ms = CAST(used.value AS BIGINT) FROM ${db.dialect.jsonPairs} AS used
                    WHERE api_keys.id = used.key AND coalesce(last_used_at_ms, 0) < CAST(used.value AS BIGINT)`;
      // In the same area as the changes: two statements that lock the same rows in different orders would deadlock.
      await db.transaction('accounts', (sql) => sql.run(note, JSON.stringify(Object.fromEntries(usedAtMs))));
    },
  };
}

/** The version for the changes of one transaction. Call it within a transaction of the area `accounts`. */
export async function nextKeyVersion(sql: Sql): Promise<number> {
  await sql.run("UPDATE versions SET value = value + 1 WHERE name = 'api_keys'");
  return integer((await sql.get("SELECT value FROM versions WHERE name = 'api_keys'"))?.['value']);
}

async function keyById(sql: Sql, id: string): Promise<StoredKey | null> {
  const rows = await sql.all(`${select} api_keys k ${withSecrets} WHERE k.id = ? AND k.removed_at_ms IS NULL ORDER BY s.number`, id);
  return readKeys(rows)[0] ?? null;
}

async function insertKey(sql: Sql, version: number, key: NewKey): Promise<KeyInsertOutcome> {
  await deleteEnded(sql, 'revoked_at_ms', revokedRetentionMs);
  await deleteEnded(sql, 'removed_at_ms', removedRetentionMs);
  if ((await countOf(sql, 'SELECT count(*) AS count FROM api_keys')) >= maxKeys) return 'store-full';
  if (key.accountId !== null) {
    const account = await sql.get('SELECT kind FROM accounts WHERE id = ? AND disabled_at_ms IS NULL', key.accountId);
    if (account === null) return 'no-account';
    if (account['kind'] === 'holder' && (await isFull(sql, key.accountId))) return 'account-full';
  }
  await sql.run(
    `INSERT INTO api_keys (id, account_id, plan, scopes, label, ip_ranges, limits, created_at_ms, version)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    key.id,
    key.accountId,
    key.plan,
    key.scopes.join(','),
    key.label,
    key.ipRanges.join(','),
    key.limits === null ? null : JSON.stringify(key.limits),
    key.createdAtMs,
    version,
  );
  await insertSecret(sql, key.id, { ...key.secret, number: 1 });
  return 'stored';
}

/** A gateway learns from the row that a key has ended. So a clock that is ahead must not delete it. */
async function deleteEnded(sql: Sql, column: 'revoked_at_ms' | 'removed_at_ms', retentionMs: number): Promise<void> {
  const beforeMs = await storedBeforeMs(sql, retentionMs);
  if (beforeMs !== null) await sql.run(`DELETE FROM api_keys WHERE ${column} < ?`, beforeMs);
}

async function isFull(sql: Sql, accountId: string): Promise<boolean> {
  const count = 'SELECT count(*) AS count FROM api_keys WHERE account_id = ?';
  if ((await countOf(sql, `${count} AND revoked_at_ms IS NULL`, accountId)) >= maxKeysPerAccount) return true;
  return (await countOf(sql, count, accountId)) >= maxStoredKeysPerAccount;
}

async function addSecret(sql: Sql, version: number, id: string, secret: NewSecret, othersEndAtMs: number): Promise<StoredKey | null> {
  const key = await keyById(sql, id);
  if (key === null || key.revokedAtMs !== null) return null;
  const endsAtMs = endOfSecretsMs(key.secrets);
  if (endsAtMs !== null && endsAtMs <= secret.createdAtMs) return null;
  const number = Math.max(0, ...key.secrets.map((one) => one.number)) + 1;
  await sql.run(
    'UPDATE api_key_secrets SET ends_at_ms = ? WHERE key_id = ? AND (ends_at_ms IS NULL OR ends_at_ms > ?)',
    othersEndAtMs,
    id,
    othersEndAtMs,
  );
  await sql.run('DELETE FROM api_key_secrets WHERE key_id = ? AND number <= ?', id, number - maxSecretsPerKey);
  await insertSecret(sql, id, { ...secret, number, endsAtMs });
  await sql.run('UPDATE api_keys SET version = ? WHERE id = ?', version, id);
  return keyById(sql, id);
}

/** When the last secret expires. Null: one of them does not expire. */
function endOfSecretsMs(secrets: readonly StoredSecret[]): number | null {
  const ends = secrets.map((secret) => secret.endsAtMs);
  return ends.includes(null) ? null : Math.max(0, ...ends.filter((end) => end !== null));
}

async function insertSecret(sql: Sql, keyId: string, secret: StoredSecret): Promise<void> {
  await sql.run(
    'INSERT INTO api_key_secrets (key_id, number, hash, created_at_ms, ends_at_ms) VALUES (?, ?, ?, ?, ?)',
    keyId,
    secret.number,
    secret.hash,
    secret.createdAtMs,
    secret.endsAtMs,
  );
}

/** Builds one key from each run of rows with the same id. Each row holds one of its secrets. */
function readKeys(rows: readonly SqlRow[]): readonly StoredKey[] {
  const keys: StoredKey[] = [];
  let secrets: StoredSecret[] = [];
  for (const row of rows) {
    if (keys.at(-1)?.id !== row['id']) {
      secrets = [];
      keys.push(readKey(row, secrets));
    }
    if (row['number'] !== null) secrets.push(readSecret(row));
  }
  return keys;
}

function readSecret(row: SqlRow): StoredSecret {
  return {
    number: integer(row['number']),
    hash: blob(row['hash']),
    createdAtMs: integer(row['secret_created_at_ms']),
    endsAtMs: integerOrNull(row['ends_at_ms']),
  };
}

function readKey(row: SqlRow, secrets: readonly StoredSecret[]): StoredKey {
  const id = text(row['id']);
  const plan = planNames.find((name) => name === row['plan']);
  if (plan === undefined) throw new Error(`key ${id} is stored with a plan that this version does not know`);
  const stored = text(row['scopes']).split(',');
  return {
    id,
    accountId: textOrNull(row['account_id']),
    plan,
    scopes: scopes.filter((scope) => stored.includes(scope)),
    label: textOrNull(row['label']),
    ipRanges: text(row['ip_ranges'])
      .split(',')
      .filter((range) => range !== ''),
    limits: readLimits(id, textOrNull(row['limits'])),
    createdAtMs: integer(row['created_at_ms']),
    lastUsedAtMs: integerOrNull(row['last_used_at_ms']),
    revokedAtMs: integerOrNull(row['revoked_at_ms']),
    removed: row['removed_at_ms'] !== null,
    version: integer(row['version']),
    secrets,
  };
}

function readLimits(id: string, stored: string | null): KeyLimits | null {
  if (stored === null) return null;
  const limits = JSON.parse(stored) as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries(limits)) {
    const isKnown = keyLimitNames.some((known) => known === name);
    if (!isKnown || !Number.isSafeInteger(value)) throw new Error(`key ${id} is stored with limits that this version does not know`);
  }
  return limits;
}
