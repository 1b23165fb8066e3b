import { planNames, scopes, type PlanName, type Scope } from '@sluice/shared/wire/plans.ts';
import { blob, integer, integerOrNull, text, textOrNull, type Database, type SqlRow } from './database.ts';

export interface StoredSecret {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly createdAtMs: number;
  /** Null: until revoked. */
  readonly endsAtMs: number | null;
}

export interface StoredKey {
  readonly id: string;
  readonly plan: PlanName;
  readonly scopes: readonly Scope[];
  readonly label: string | null;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
  /** Oldest first; at most `maxSecretsPerKey`. */
  readonly secrets: readonly StoredSecret[];
}

export type NewKey = Pick<StoredKey, 'id' | 'plan' | 'scopes' | 'label' | 'createdAtMs'> & {
  readonly secret: Omit<StoredSecret, 'number'>;
};

/** API keys as stored: hashes only, never a key. */
export interface KeyTable {
  /** Grows with every change of the table, whichever process made it. Cheap: one row. */
  version(): number;
  /** Every key, oldest first. */
  all(): readonly StoredKey[];
  /** False: there are `maxKeys` already. */
  insert(key: NewKey): boolean;
  /** Adds a secret and lets the older ones end at `othersEndAtMs` at the latest. False: no such key, or revoked. */
  addSecret(id: string, secret: Omit<StoredSecret, 'number'>, othersEndAtMs: number): boolean;
  /** False: no such key, or revoked before. */
  revoke(id: string, atMs: number): boolean;
  /** Forgets a key altogether. */
  remove(id: string): boolean;
}

/** Keys that the store takes, all of which a gateway holds in memory; beyond them creating one is refused. */
export const maxKeys = 100_000;
/** Beyond it the oldest secret goes. */
const maxSecretsPerKey = 4;
/** Revoked keys are listed for so long, then forgotten at the next change. */
const keepRevokedMs = 30 * 24 * 3_600_000;

export function createKeyTable(db: Database): KeyTable {
  const change = <T>(work: () => T): T =>
    db.transaction(() => {
      const result = work();
      db.run("UPDATE versions SET value = value + 1 WHERE name = 'api_keys'");
      return result;
    });
  const addSecretRow = (id: string, number: number, secret: Omit<StoredSecret, 'number'>): void => {
    db.run(
      'INSERT INTO api_key_secrets (key_id, number, hash, created_at_ms, ends_at_ms) VALUES (?, ?, ?, ?, ?)',
      id,
      number,
      secret.hash,
      secret.createdAtMs,
      secret.endsAtMs,
    );
  };
  return {
    version: () => integer(db.get("SELECT value FROM versions WHERE name = 'api_keys'")?.['value']),
    all: () => readKeys(db),
    insert: (key) =>
      change(() => {
        db.run('DELETE FROM api_keys WHERE revoked_at_ms < ?', key.createdAtMs - keepRevokedMs);
        if (integer(db.get('SELECT count(*) AS count FROM api_keys')?.['count']) >= maxKeys) return false;
        db.run(
          'INSERT INTO api_keys (id, plan, scopes, label, created_at_ms) VALUES (?, ?, ?, ?, ?)',
          key.id,
          key.plan,
          key.scopes.join(','),
          key.label,
          key.createdAtMs,
        );
        addSecretRow(key.id, 1, key.secret);
        return true;
      }),
    addSecret: (id, secret, othersEndAtMs) =>
      change(() => {
        const last = db.get(
          `SELECT max(number) AS number FROM api_keys JOIN api_key_secrets ON key_id = id
           WHERE id = ? AND revoked_at_ms IS NULL GROUP BY id`,
          id,
        );
        if (last === null) return false;
        const number = integer(last['number']) + 1;
        db.run(
          'UPDATE api_key_secrets SET ends_at_ms = ? WHERE key_id = ? AND (ends_at_ms IS NULL OR ends_at_ms > ?)',
          othersEndAtMs,
          id,
          othersEndAtMs,
        );
        db.run('DELETE FROM api_key_secrets WHERE key_id = ? AND number <= ?', id, number - maxSecretsPerKey);
        addSecretRow(id, number, secret);
        return true;
      }),
    revoke: (id, atMs) =>
      change(() => db.run('UPDATE api_keys SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL', atMs, id) > 0),
    remove: (id) => change(() => db.run('DELETE FROM api_keys WHERE id = ?', id) > 0),
  };
}

function readKeys(db: Database): readonly StoredKey[] {
  const secrets = new Map<string, StoredSecret[]>();
  for (const row of db.all('SELECT * FROM api_key_secrets ORDER BY key_id, number')) {
    const keyId = text(row['key_id']);
    const list = secrets.get(keyId) ?? [];
    list.push({
      number: integer(row['number']),
      hash: blob(row['hash']),
      createdAtMs: integer(row['created_at_ms']),
      endsAtMs: integerOrNull(row['ends_at_ms']),
    });
    secrets.set(keyId, list);
  }
  return db.all('SELECT * FROM api_keys ORDER BY created_at_ms, id').map((row) => readKey(row, secrets));
}

function readKey(row: SqlRow, secrets: ReadonlyMap<string, readonly StoredSecret[]>): StoredKey {
  const id = text(row['id']);
  const plan = planNames.find((name) => name === row['plan']);
  if (plan === undefined) throw new Error(`key ${id} is stored with a plan that this version does not know`);
  const stored = text(row['scopes']).split(',');
  return {
    id,
    plan,
    scopes: scopes.filter((scope) => stored.includes(scope)),
    label: textOrNull(row['label']),
    createdAtMs: integer(row['created_at_ms']),
    revokedAtMs: integerOrNull(row['revoked_at_ms']),
    secrets: secrets.get(id) ?? [],
  };
}
