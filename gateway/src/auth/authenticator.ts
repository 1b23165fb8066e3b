import { timingSafeEqual } from 'node:crypto';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import type { StoredKey } from '../store/key-table.ts';
import type { Store } from '../store/store.ts';
import { parseApiKey } from './key-format.ts';
import { openKeyHash } from './pepper.ts';
import type { Authenticator, Principal } from './principal.ts';

/** How often the store is asked whether another process changed the keys, milliseconds. */
const pollMs = 250;
/** How long keys that can no longer be checked for revocation go on working, milliseconds. */
const maxStaleMs = 30_000;

interface Credential {
  readonly principal: Principal;
  readonly hash: Uint8Array;
  readonly endsAtMs: number;
}

/**
 * Checks API keys against the store. All live keys are held in memory (at most `maxKeys`), so a check costs one HMAC; a
 * change by another process is seen within `pollMs`, a key just made at once. Does the same work for ids that don't exist.
 * While the store cannot be read the last known keys hold for `maxStaleMs`, then none does; `onFault` hears of each failure.
 */
export function createAuthenticator(store: Store, onFault: (error: unknown) => void = warn): Authenticator & { close(): void } {
  const hashKey = openKeyHash(store.dataDir);
  const listeners = new Set<Parameters<Authenticator['onRevoked']>[0]>();
  let version = store.keys.version();
  let live = liveCredentials(store.keys.all(), Date.now());
  let nextEndMs = firstEndMs(live);
  let readAtMs = Date.now();

  const replace = (next: Map<string, readonly Credential[]>): void => {
    const kept = new Set([...next.values()].flat().map((credential) => credential.principal.credential));
    const gone = [...live.values()].flat().filter((credential) => !kept.has(credential.principal.credential));
    live = next;
    nextEndMs = firstEndMs(live);
    const nowMs = Date.now();
    for (const { principal, endsAtMs } of gone) {
      for (const listener of listeners) listener(principal.credential, endsAtMs <= nowMs ? 'expired' : 'revoked');
    }
  };
  const refresh = (): void => {
    try {
      const nowMs = Date.now();
      const current = store.keys.version();
      if (current !== version || nextEndMs <= nowMs) replace(liveCredentials(store.keys.all(), nowMs));
      version = current;
      readAtMs = nowMs;
    } catch (error) {
      onFault(error);
    }
  };
  const timer = setInterval(refresh, pollMs);
  timer.unref();

  return {
    authenticate: (apiKey) => {
      const parts = parseApiKey(apiKey);
      if (parts === null) return null;
      const hash = hashKey(parts.id, parts.secret);
      const isStale = Date.now() - readAtMs > maxStaleMs;
      const found = isStale ? null : match(live.get(parts.id), hash);
      if (found !== null) return found;
      // Perhaps made or changed since the last look; the same for every key that does not match.
      refresh();
      return Date.now() - readAtMs > maxStaleMs ? null : match(live.get(parts.id), hash);
    },
    onRevoked: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => {
      clearInterval(timer);
      listeners.clear();
    },
  };
}

function warn(error: unknown): void {
  process.emitWarning(`the API keys could not be read: ${String(error)}`);
}

function firstEndMs(live: ReadonlyMap<string, readonly Credential[]>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const list of live.values()) for (const credential of list) first = Math.min(first, credential.endsAtMs);
  return first;
}

const noCredential: readonly Credential[] = [
  {
    principal: { keyId: '', credential: '', accountId: null, plan: defaultPlans.standard, scopes: [], ipRanges: [], label: null },
    hash: new Uint8Array(32),
    endsAtMs: Number.NEGATIVE_INFINITY,
  },
];

function match(credentials: readonly Credential[] = noCredential, hash: Uint8Array): Principal | null {
  const nowMs = Date.now();
  let found: Principal | null = null;
  for (const credential of credentials) {
    const same = timingSafeEqual(credential.hash, hash);
    if (same && credential.endsAtMs > nowMs) found = credential.principal;
  }
  return found;
}

function liveCredentials(keys: readonly StoredKey[], nowMs: number): Map<string, readonly Credential[]> {
  const live = new Map<string, readonly Credential[]>();
  for (const key of keys) {
    if (key.revokedAtMs !== null) continue;
    const credentials = key.secrets
      .map((secret) => ({
        principal: {
          keyId: key.id,
          credential: `${key.id}.${secret.number}`,
          accountId: null,
          plan: defaultPlans[key.plan],
          scopes: key.scopes,
          ipRanges: [],
          label: key.label,
        },
        hash: secret.hash,
        endsAtMs: secret.endsAtMs ?? Number.POSITIVE_INFINITY,
      }))
      .filter((credential) => credential.endsAtMs > nowMs);
    if (credentials.length > 0) live.set(key.id, credentials);
  }
  return live;
}
