import type { Plan } from '@sluice/shared/config/plans.ts';
import type { PlanName, Scope } from '@sluice/shared/wire/plans.ts';

export interface StoredSecret {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly createdAtMs: number;
  /** Null: until revoked. */
  readonly endsAtMs: number | null;
}

/** What of a plan may be set for one key. */
export const keyLimitNames = ['requestsPerMinute', 'burst', 'connections', 'subscriptions', 'commandsPerSecond'] as const;
export type KeyLimits = Partial<Pick<Plan, (typeof keyLimitNames)[number]>>;

export interface StoredKey {
  readonly id: string;
  /** Null: the operator's, made on the command line. */
  readonly accountId: string | null;
  readonly plan: PlanName;
  readonly scopes: readonly Scope[];
  readonly label: string | null;
  /** CIDR; empty: from anywhere. */
  readonly ipRanges: readonly string[];
  /** In place of the plan's; null: the plan's. */
  readonly limits: KeyLimits | null;
  readonly createdAtMs: number;
  /** As the gateways last noted it, some ten seconds late at most. */
  readonly lastUsedAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** Deleted: revoked and listed no more. Seen only in `changed`. */
  readonly removed: boolean;
  /** The table's version that its last change made. */
  readonly version: number;
  /** Oldest first; at most `maxSecretsPerKey`. */
  readonly secrets: readonly StoredSecret[];
}

export type NewSecret = Pick<StoredSecret, 'hash' | 'createdAtMs'>;
export type NewKey = Pick<StoredKey, 'id' | 'accountId' | 'plan' | 'scopes' | 'label' | 'ipRanges' | 'limits' | 'createdAtMs'> & {
  readonly secret: NewSecret & Pick<StoredSecret, 'endsAtMs'>;
};

/** `account-full`: the holder's account has `maxKeysPerAccount` already. `no-account`: none such, or it is disabled. */
export type KeyInsertOutcome = 'stored' | 'store-full' | 'account-full' | 'no-account';

/** Where a reader of `changed` stands. */
export type KeyCursor = Pick<StoredKey, 'version' | 'id'>;

/** API keys as stored: hashes only, never a key. */
export interface KeyTable {
  /** Grows with every change of the table, whichever process made it; noting a use is none. Cheap: one row. */
  version(): Promise<number>;
  /**
   * Up to `limit` keys as they changed, the earliest change first, behind `after`: deleted ones too. Whoever has read them to
   * the end after `version()` gave a number has seen every change up to that one.
   */
  changed(after: KeyCursor, limit: number): Promise<readonly StoredKey[]>;
  /** Every key that is not deleted, oldest first. */
  all(): Promise<readonly StoredKey[]>;
  /** Null: no such key, or deleted. */
  byId(id: string): Promise<StoredKey | null>;
  /** An account's keys that are not deleted, oldest first. */
  ofAccount(accountId: string): Promise<readonly StoredKey[]>;
  /** How many are neither revoked nor deleted. */
  countLive(): Promise<number>;
  insert(key: NewKey): Promise<KeyInsertOutcome>;
  /**
   * Adds a secret, which ends when the key was to end, and lets the older ones end at `othersEndAtMs` at the latest. Returns the
   * key as it is then; null: no such key, or revoked, or expired.
   */
  addSecret(id: string, secret: NewSecret, othersEndAtMs: number): Promise<StoredKey | null>;
  /** False: no such key, or revoked before. */
  revoke(id: string, atMs: number): Promise<boolean>;
  /** Revokes every key that is not revoked; returns how many there were. */
  revokeAll(atMs: number): Promise<number>;
  /** Revokes the key, if it is not, and lists it no more. False: no such key, or deleted before. */
  remove(id: string, atMs: number): Promise<boolean>;
  /** Notes when keys were last used, by id, in one statement; what is known to be later stays. */
  noteUses(usedAtMs: ReadonlyMap<string, number>): Promise<void>;
}

/** Keys that the store takes, all of which a gateway holds in memory; beyond them creating one is refused. */
export const maxKeys = 100_000;
/** Keys of a holder's account that are not revoked. */
export const maxKeysPerAccount = 20;
/** Beyond it the oldest secret goes. */
export const maxSecretsPerKey = 4;
/** Deleted keys are kept for so long, so that no gateway misses it; one that was cut off for half of it reads all keys anew. */
export const keepRemovedMs = 3_600_000;
