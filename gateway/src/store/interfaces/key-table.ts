import type { Plan } from '@sluice/shared/config/plans.ts';
import type { PlanName, Scope } from '@sluice/shared/wire/values/plans.ts';

export interface StoredSecret {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly createdAtMs: number;
  /** Null: until revoked. */
  readonly endsAtMs: number | null;
}

/** The limits of a plan that can be set for a single key. */
export const keyLimitNames = ['requestsPerMinute', 'burst', 'connections', 'subscriptions', 'commandsPerSecond'] as const;
export type KeyLimits = Partial<Pick<Plan, (typeof keyLimitNames)[number]>>;

export interface StoredKey {
  readonly id: string;
  /** Null: a key of the operator, created on the command line. */
  readonly accountId: string | null;
  readonly plan: PlanName;
  readonly scopes: readonly Scope[];
  readonly label: string | null;
  /** CIDR ranges from which the key may be used. Empty: from anywhere. */
  readonly ipRanges: readonly string[];
  /** Limits that replace the plan's. Null: the plan's apply. */
  readonly limits: KeyLimits | null;
  readonly createdAtMs: number;
  /** As last recorded by a gateway; about ten seconds late at most. */
  readonly lastUsedAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** Deleted: revoked and no longer listed. Only `changed` returns such keys. */
  readonly removed: boolean;
  /** The version of the table after the last change of this key. */
  readonly version: number;
  /** Oldest first; at most `maxSecretsPerKey`. */
  readonly secrets: readonly StoredSecret[];
}

export type NewSecret = Pick<StoredSecret, 'hash' | 'createdAtMs'>;
export type NewKey = Pick<StoredKey, 'id' | 'accountId' | 'plan' | 'scopes' | 'label' | 'ipRanges' | 'limits' | 'createdAtMs'> & {
  readonly secret: NewSecret & Pick<StoredSecret, 'endsAtMs'>;
};

/** `account-full`: the account has `maxKeysPerAccount` keys. `no-account`: no such account, or it is disabled. */
export type KeyInsertOutcome = 'stored' | 'store-full' | 'account-full' | 'no-account';

/** The place up to which a reader of `changed` has read. */
export type KeyCursor = Pick<StoredKey, 'version' | 'id'>;

/** The stored API keys. Only hashes of their secrets are stored. */
export interface KeyTable {
  /** Grows with every change of the table by any process, except `noteUses`. Reads one row. */
  version(): Promise<number>;
  /**
   * Up to `limit` keys that changed after the position `after`, also deleted ones, the earliest change first. A reader that calls
   * `version()` and then reads to the end has seen every change up to that version.
   */
  changed(after: KeyCursor, limit: number): Promise<readonly StoredKey[]>;
  /** All keys that are not deleted, oldest first. */
  all(): Promise<readonly StoredKey[]>;
  /** Null: no such key, or deleted. */
  byId(id: string): Promise<StoredKey | null>;
  /** An account's keys that are not deleted, oldest first. */
  ofAccount(accountId: string): Promise<readonly StoredKey[]>;
  /** The number of keys that are neither revoked nor deleted. */
  countLive(): Promise<number>;
  insert(key: NewKey): Promise<KeyInsertOutcome>;
  /**
   * Adds a secret with the same expiry as the key, and makes the older secrets end at `othersEndAtMs` at the latest. Returns the
   * changed key. Null: no such key, or it is revoked or expired.
   */
  addSecret(id: string, secret: NewSecret, othersEndAtMs: number): Promise<StoredKey | null>;
  /** False: no such key, or it is revoked already. */
  revoke(id: string, atMs: number): Promise<boolean>;
  /** Revokes all keys. Returns how many were not revoked before. */
  revokeAll(atMs: number): Promise<number>;
  /** Deletes the key: revokes it, and no longer lists it. False: no such key, or it is deleted already. */
  remove(id: string, atMs: number): Promise<boolean>;
  /** Records when keys were last used, by id, in one statement. An earlier time never replaces a later one. */
  noteUses(usedAtMs: ReadonlyMap<string, number>): Promise<void>;
}

/** Maximum number of keys that the store holds. A gateway has all of them in memory. Creating one more is refused. */
export const maxKeys = 100_000;
/** Maximum number of keys of one account, other than the operator's, that are not revoked. */
export const maxKeysPerAccount = 20;
/** Maximum number of secrets of a key. A further one replaces the oldest. */
export const maxSecretsPerKey = 4;
/**
 * How long a deleted key stays in the store, so that every gateway learns of the deletion. A gateway that could not read the store for
 * half of this time reads all keys again.
 */
export const removedRetentionMs = 3_600_000;
