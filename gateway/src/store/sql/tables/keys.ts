import type { Plan } from '@sluice/shared/config/plans.ts';
import { planNames, scopes, type Scope } from '@sluice/shared/wire/values/plans.ts';
import { blob, countOf, insertRow, integer, list, nullable, oneOf, Table, text, type Column, type RowOf } from '../columns.ts';
import type { Database, Sql, SqlRow, SqlValue } from '../database.ts';
import { storedBeforeMs } from '../running-hours.ts';

/** The limits of a plan that can be set for a single key. */
const limitNames = ['requestsPerMinute', 'burst', 'connections', 'subscriptions', 'commandsPerSecond'] as const;
export type KeyLimits = Partial<Pick<Plan, (typeof limitNames)[number]>>;

const limitsColumn: Column<KeyLimits> = {
  read: (stored) => {
    const limits = JSON.parse(text.read(stored)) as Readonly<Record<string, unknown>>;
    const isKnown = ([name, value]: readonly [string, unknown]): boolean =>
      limitNames.some((known) => known === name) && Number.isSafeInteger(value);
    return Object.entries(limits).every(isKnown) ? limits : undefined;
  },
  write: (limits) => JSON.stringify(limits),
};

const scopesColumn: Column<readonly Scope[]> = {
  read: (stored) => scopes.filter((scope) => list.read(stored).includes(scope)),
  write: (values) => list.write(values),
};

const keys = new Table('api_keys', {
  id: text,
  /** Null: a key of the operator, created on the command line. */
  accountId: nullable(text),
  plan: oneOf(planNames),
  scopes: scopesColumn,
  label: nullable(text),
  /** CIDR ranges from which the key may be used. Empty: from anywhere. */
  ipRanges: list,
  /** Limits that replace the plan's. Null: the plan's apply. */
  limits: nullable(limitsColumn),
  createdAtMs: integer,
  /** As last recorded by a gateway; about ten seconds late at most. */
  lastUsedAtMs: nullable(integer),
  revokedAtMs: nullable(integer),
  /** The version of the table after the last change of this key. */
  version: integer,
});

const secrets = new Table('api_key_secrets', {
  number: integer,
  hash: blob,
  createdAtMs: { ...integer, name: 'secret_created_at_ms' },
  /** Null: until revoked. */
  endsAtMs: nullable(integer),
});

export type StoredSecret = RowOf<typeof secrets>;
type NewSecret = Pick<StoredSecret, 'hash' | 'createdAtMs'>;

export interface StoredKey extends RowOf<typeof keys> {
  /** Oldest first; at most `maxSecretsPerKey`. */
  readonly secrets: readonly StoredSecret[];
}

export type NewKey = Omit<RowOf<typeof keys>, 'lastUsedAtMs' | 'revokedAtMs' | 'version'> & {
  readonly secret: Omit<StoredSecret, 'number'>;
};

/** `account-full`: the account has `maxKeysPerAccount` keys. `no-account`: no such account, or it is disabled. */
export type KeyInsertOutcome = 'stored' | 'store-full' | 'account-full' | 'no-account';

/** The place up to which a reader of `changed` has read. */
export type KeyCursor = Pick<StoredKey, 'version' | 'id'>;

/** Maximum number of keys that the store holds. A gateway has all of them in memory. Creating one more is refused. */
export const maxKeys = 100_000;
/** Maximum number of keys of one account, other than the operator's, that are not revoked. */
export const maxKeysPerAccount = 20;
/** Maximum number of rows of one account, including revoked and deleted keys, so that a user who creates and deletes keys cannot fill the store. */
const maxStoredKeysPerAccount = 5 * maxKeysPerAccount;
/** Maximum number of secrets of a key. A further one replaces the oldest. */
const maxSecretsPerKey = 4;
/** How long a revoked key is listed. It is deleted when a key is created after that. */
const revokedRetentionMs = 30 * 24 * 3_600_000;
/**
 * How long a deleted key stays in the store, so that every gateway learns of the deletion. A gateway that could not read the store for
 * half of this time reads all keys again.
 */
export const removedRetentionMs = 3_600_000;

/** Reads keys with their secrets. `from`: the keys `k`; `rest`: further conditions and the order. */
async function read(sql: Sql, from: string, rest: string, ...values: readonly SqlValue[]): Promise<readonly StoredKey[]> {
  const columns = 'k.*, s.number, s.hash, s.created_at_ms AS secret_created_at_ms, s.ends_at_ms';
  return keysIn(
    await sql.all(`SELECT ${columns} FROM ${from} k LEFT JOIN api_key_secrets s ON s.key_id = k.id ${rest}, s.number`, ...values),
  );
}

/** Builds one key from each run of rows with the same id. Each row holds one of its secrets. */
function keysIn(rows: readonly SqlRow[]): readonly StoredKey[] {
  const found: (StoredKey & { readonly secrets: StoredSecret[] })[] = [];
  for (const row of rows) {
    if (found.at(-1)?.id !== row['id']) found.push({ ...keys.read(row), secrets: [] });
    if (row['number'] !== null) found.at(-1)!.secrets.push(secrets.read(row));
  }
  return found;
}

const oldestFirst = 'AND k.removed_at_ms IS NULL ORDER BY k.created_at_ms, k.id';

/** The stored API keys. Only hashes of their secrets are stored. */
export function keyTable(db: Database) {
  const change = <T>(work: (sql: Sql, version: number) => Promise<T>): Promise<T> =>
    db.transaction('accounts', async (sql) => work(sql, await nextKeyVersion(sql)));
  return {
    /** Grows with every change of the table by any process, except `noteUses`. Reads one row. */
    version: () => keyVersion(db),
    /**
     * Up to `limit` keys that changed after the position `after`, also deleted ones, the earliest change first. A reader that calls
     * `version()` and then reads to the end has seen every change up to that version.
     */
    changed: (after: KeyCursor, limit: number) => {
      const changed = '(SELECT * FROM api_keys WHERE (version, id) > (?, ?) ORDER BY version, id LIMIT ?)';
      return read(db, changed, 'ORDER BY k.version, k.id', after.version, after.id, limit);
    },
    /** All keys that are not deleted, oldest first. */
    all: () => read(db, 'api_keys', `WHERE true ${oldestFirst}`),
    /** Null: no such key, or deleted. */
    byId: (id: string) => keyById(db, id),
    /** An account's keys that are not deleted, oldest first. */
    ofAccount: (accountId: string) => read(db, 'api_keys', `WHERE k.account_id = ? ${oldestFirst}`, accountId),
    /** The number of keys that are neither revoked nor deleted. */
    countLive: () => countOf(db, 'SELECT count(*) AS count FROM api_keys WHERE revoked_at_ms IS NULL'),
    insert: (key: NewKey) => change((sql, version) => insertKey(sql, version, key)),
    /**
     * Adds a secret with the same expiry as the key, and makes the older secrets end at `othersEndAtMs` at the latest. Returns the
     * changed key. Null: no such key, or it is revoked or expired.
     */
    addSecret: (id: string, secret: NewSecret, othersEndAtMs: number) =>
      change((sql, version) => addSecret(sql, version, id, secret, othersEndAtMs)),
    /** False: no such key, or it is revoked already. */
    revoke: (id: string, atMs: number) =>
      change(async (sql, version) => {
        const revoke = 'UPDATE api_keys SET revoked_at_ms = ?, version = ? WHERE id = ? AND revoked_at_ms IS NULL';
        return (await sql.run(revoke, atMs, version, id)) > 0;
      }),
    /** Revokes all keys. Returns how many were not revoked before. */
    revokeAll: (atMs: number) =>
      change((sql, version) => sql.run('UPDATE api_keys SET revoked_at_ms = ?, version = ? WHERE revoked_at_ms IS NULL', atMs, version)),
    /** Deletes the key: the key is revoked, and no longer listed. False: no such key, or the key is deleted already. */
    remove: (id: string, atMs: number) =>
      change(async (sql, version) => {
        const remove = `UPDATE api_keys SET revoked_at_ms = coalesce(revoked_at_ms, ?), removed_at_ms = ?, version = ?
                        WHERE id = ? AND removed_at_ms IS NULL`;
        return (await sql.run(remove, atMs, atMs, version, id)) > 0;
      }),
    /** Records when keys were last used, by id, in one statement. An earlier time never replaces a later one. */
    noteUses: async (usedAtMs: ReadonlyMap<string, number>) => {
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
  return keyVersion(sql);
}

async function keyVersion(sql: Sql): Promise<number> {
  return integer.read((await sql.get("SELECT value FROM versions WHERE name = 'api_keys'"))?.['value']);
}

async function keyById(sql: Sql, id: string): Promise<StoredKey | null> {
  return (await read(sql, 'api_keys', `WHERE k.id = ? ${oldestFirst}`, id))[0] ?? null;
}

async function insertKey(sql: Sql, version: number, { secret, ...key }: NewKey): Promise<KeyInsertOutcome> {
  await deleteEnded(sql, 'revoked_at_ms', revokedRetentionMs);
  await deleteEnded(sql, 'removed_at_ms', removedRetentionMs);
  if ((await countOf(sql, 'SELECT count(*) AS count FROM api_keys')) >= maxKeys) return 'store-full';
  if (key.accountId !== null) {
    const account = await sql.get('SELECT kind FROM accounts WHERE id = ? AND disabled_at_ms IS NULL', key.accountId);
    if (account === null) return 'no-account';
    if (account['kind'] === 'holder' && (await isFull(sql, key.accountId))) return 'account-full';
  }
  await insertRow(sql, 'api_keys', keys.write({ ...key, version }));
  await insertSecret(sql, key.id, { ...secret, number: 1 });
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
  const end = 'UPDATE api_key_secrets SET ends_at_ms = ? WHERE key_id = ? AND (ends_at_ms IS NULL OR ends_at_ms > ?)';
  await sql.run(end, othersEndAtMs, id, othersEndAtMs);
  await sql.run('DELETE FROM api_key_secrets WHERE key_id = ? AND number <= ?', id, number - maxSecretsPerKey);
  await insertSecret(sql, id, { ...secret, number, endsAtMs });
  await sql.run('UPDATE api_keys SET version = ? WHERE id = ?', version, id);
  return keyById(sql, id);
}

/** When the last secret expires. Null: one of them does not expire. */
export function endOfSecretsMs(all: readonly StoredSecret[]): number | null {
  const ends = all.map((secret) => secret.endsAtMs);
  return ends.includes(null) ? null : Math.max(0, ...ends.filter((end) => end !== null));
}

async function insertSecret(sql: Sql, keyId: string, { number, hash, createdAtMs, endsAtMs }: StoredSecret): Promise<void> {
  await insertRow(sql, 'api_key_secrets', { key_id: keyId, number, hash, created_at_ms: createdAtMs, ends_at_ms: endsAtMs });
}
