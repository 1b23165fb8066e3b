import { timingSafeEqual } from 'node:crypto';
import { endOfSecretsMs, type KeyInsertOutcome, type NewKey, type StoredKey } from '../store/sql/tables/keys.ts';
import type { Store } from '../store/store.ts';
import { newApiKey, newKeyId, parseApiKey } from './key-format.ts';
import { openKeyHash } from './pepper.ts';

export type KeyRequest = Pick<NewKey, 'plan' | 'scopes' | 'label'> &
  Partial<Pick<NewKey, 'accountId' | 'ipRanges' | 'limits'>> & {
    /** Default: until revoked. */
    readonly expiresAtMs?: number | null;
  };

/** A new key with its secret, which is shown only once. */
export interface CreatedKey extends Pick<StoredKey, 'id' | 'plan' | 'scopes'> {
  readonly key: string;
}

export type CreateKeyOutcome =
  | { readonly ok: true; readonly created: CreatedKey }
  | { readonly ok: false; readonly reason: Exclude<KeyInsertOutcome, 'stored'> };

/**
 * Creates a key: by default one of the operator, for any address (`ipRanges` have the form of `readIpRanges`), with the limits of its plan. The
 * gateway of this process accepts it after `Authenticator.refresh`, the others within 250 ms.
 */
export async function createApiKey(store: Store, { expiresAtMs = null, ...request }: KeyRequest): Promise<CreateKeyOutcome> {
  const id = newKeyId();
  const { key, hash } = await newSecret(store, id);
  const createdAtMs = store.time.nowMs();
  const secret = { hash, createdAtMs, endsAtMs: expiresAtMs };
  const outcome = await store.keys.insert({ id, accountId: null, ipRanges: [], limits: null, ...request, createdAtMs, secret });
  if (outcome !== 'stored') return { ok: false, reason: outcome };
  return { ok: true, created: { id, key, plan: request.plan, scopes: request.scopes } };
}

/**
 * Gives the key a new secret with the same expiry. The old secret works for another `overlapMs`. Null: there is no such key, or it is revoked
 * or expired.
 */
export async function rotateApiKey(store: Store, id: string, overlapMs: number): Promise<CreatedKey | null> {
  const { key, hash } = await newSecret(store, id);
  const nowMs = store.time.nowMs();
  const stored = await store.keys.addSecret(id, { hash, createdAtMs: nowMs }, nowMs + overlapMs);
  return stored === null ? null : { id, key, plan: stored.plan, scopes: stored.scopes };
}

/** Deletes a key: the key is revoked, and no longer listed. False: no such key, or the key is deleted already. */
export function deleteApiKey(store: Store, id: string): Promise<boolean> {
  return store.keys.remove(id, store.time.nowMs());
}

/** When the last of the key's secrets expires; null if it does not expire. */
export function endOfKeyMs(key: StoredKey): number | null {
  return key.revokedAtMs ?? endOfSecretsMs(key.secrets);
}

/** The stored key for which this key is valid now, read from the store. Null: none. For occasional checks; requests use the authenticator. */
export async function storedKeyOf(store: Store, apiKey: string): Promise<StoredKey | null> {
  const parts = parseApiKey(apiKey);
  const stored = parts === null ? null : await store.keys.byId(parts.id);
  if (parts === null || stored === null || stored.revokedAtMs !== null) return null;
  const hash = (await openKeyHash(store))(parts.id, parts.secret);
  const nowMs = store.time.nowMs();
  const isLive = stored.secrets.some(
    (secret) => timingSafeEqual(secret.hash, hash) && (secret.endsAtMs ?? Number.POSITIVE_INFINITY) > nowMs,
  );
  return isLive ? stored : null;
}

async function newSecret(store: Store, id: string): Promise<{ readonly key: string; readonly hash: Uint8Array }> {
  const { key, secret } = newApiKey(id);
  return { key, hash: (await openKeyHash(store))(id, secret) };
}
