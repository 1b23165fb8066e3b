import { maxKeys, type StoredKey } from '../store/key-table.ts';
import type { Store } from '../store/store.ts';
import { newApiKey, newKeyId } from './key-format.ts';
import { openKeyHash } from './pepper.ts';
import type { PlanName, Scope } from '@sluice/shared/wire/plans.ts';

export interface KeyRequest {
  readonly plan: PlanName;
  readonly scopes: readonly Scope[];
  readonly label: string | null;
  /** Null: until revoked. */
  readonly expiresAtMs: number | null;
}

/** A key as it is shown, once, to the one who made it. */
export interface ShownKey {
  readonly id: string;
  readonly key: string;
  readonly plan: PlanName;
  readonly scopes: readonly Scope[];
}

/** Throws where the store holds `maxKeys` already. */
export function createApiKey(store: Store, { plan, scopes, label, expiresAtMs }: KeyRequest): ShownKey {
  const id = newKeyId();
  const { key, hash } = newSecret(store, id);
  const createdAtMs = Date.now();
  const stored = store.keys.insert({ id, plan, scopes, label, createdAtMs, secret: { hash, createdAtMs, endsAtMs: expiresAtMs } });
  if (!stored) throw new Error(`the store holds ${maxKeys} keys already`);
  return { id, key, plan, scopes };
}

/** Gives the key a new secret; the old one works for another `overlapMs`. Null: no such key, or revoked. */
export function rotateApiKey(store: Store, id: string, overlapMs: number): ShownKey | null {
  const nowMs = Date.now();
  const { key, hash } = newSecret(store, id);
  if (!store.keys.addSecret(id, { hash, createdAtMs: nowMs, endsAtMs: null }, nowMs + overlapMs)) return null;
  const stored = store.keys.all().find((candidate) => candidate.id === id);
  return stored === undefined ? null : { id, key, plan: stored.plan, scopes: stored.scopes };
}

/** When the last of the key's secrets ends; null: it does not end by itself. */
export function endOfKeyMs(key: StoredKey): number | null {
  if (key.revokedAtMs !== null) return key.revokedAtMs;
  const ends = key.secrets.map((secret) => secret.endsAtMs);
  return ends.includes(null) ? null : Math.max(...ends.filter((end) => end !== null));
}

function newSecret(store: Store, id: string): { readonly key: string; readonly hash: Uint8Array } {
  const { key, secret } = newApiKey(id);
  return { key, hash: openKeyHash(store.dataDir)(id, secret) };
}
