import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Plan, Plans } from '@sluice/shared/config/plans.ts';
import type { KeyLimits, StoredKey } from '../store/sql/tables/keys.ts';
import type { KeyParts } from './key-format.ts';
import type { KeyHash } from './pepper.ts';
import type { Principal } from './principal.ts';

interface Credential {
  readonly principal: Principal;
  /** The stored hash, made with the pepper. */
  readonly hash: Uint8Array;
  readonly endsAtMs: number;
  /** Whether its end was reported. If the clock was wrong, it is valid again. */
  isOver: boolean;
  /** SHA-256 of the secret, set when it was first used. It needs a third of the work of `hash`, and reveals nothing about 200 random bits. */
  digest: Uint8Array;
}

/** The digest of a secret that was not used yet. No secret has this digest. */
const unseen = randomBytes(32);

/** Compared if the id is unknown, so that the check takes as long as with a wrong secret. */
const noCredential: readonly Pick<Credential, 'hash' | 'digest'>[] = [{ hash: randomBytes(32), digest: unseen }];

export interface RingListener {
  /** The credential is no longer valid. */
  onGone(credential: string, reason: 'revoked' | 'expired'): void;
  /** The credential is still valid, with another plan or other limits. */
  onReplanned(principal: Principal): void;
}

/** The secrets of all keys that are not revoked, in memory, including expired ones. No clock, no I/O. */
export class KeyRing {
  readonly #live = new Map<string, readonly Credential[]>();
  /** Credentials that expire. */
  readonly #ending = new Set<Credential>();
  readonly #plans: Plans;
  readonly #hashKey: KeyHash;
  readonly #listener: RingListener;

  constructor(plans: Plans, hashKey: KeyHash, listener: RingListener) {
    this.#plans = plans;
    this.#hashKey = hashKey;
    this.#listener = listener;
  }

  /** The caller with this key. Null: the id or the secret is unknown or has ended. Every refusal takes the same amount of work. */
  match({ id, secret }: KeyParts, nowMs: number): Principal | null {
    const credentials = this.#live.get(id);
    const digest = hash('sha256', secret, 'buffer');
    let found = matching(credentials ?? noCredential, 'digest', digest);
    if (found === -1) {
      found = matching(credentials ?? noCredential, 'hash', this.#hashKey(id, secret));
      const first = credentials?.[found];
      if (first !== undefined) first.digest = digest;
    }
    const credential = credentials?.[found];
    return credential !== undefined && credential.endsAtMs > nowMs ? credential.principal : null;
  }

  /** The principal of a credential; null if the credential has ended. */
  byCredential(name: string, nowMs: number): Principal | null {
    const credentials = this.#live.get(name.slice(0, name.lastIndexOf('.'))) ?? [];
    return credentials.find(({ principal, endsAtMs }) => principal.credential === name && endsAtMs > nowMs)?.principal ?? null;
  }

  /** Replaces a key by its stored state. */
  apply(key: StoredKey, nowMs: number): void {
    const before = this.#live.get(key.id) ?? [];
    const after = key.revokedAtMs === null ? credentialsOf(key, this.#plans, nowMs) : [];
    this.#put(key.id, after);
    const remaining = new Map(after.map((credential) => [credential.principal.credential, credential]));
    for (const credential of before) {
      if (credential.isOver) continue;
      const { principal } = credential;
      const current = remaining.get(principal.credential);
      if (current === undefined || current.isOver) this.#tell(current ?? credential, nowMs);
      else if (!isDeepStrictEqual(current.principal.plan, principal.plan)) this.#listener.onReplanned(current.principal);
    }
  }

  /** Forgets all keys but these. */
  retain(ids: ReadonlySet<string>, nowMs: number): void {
    for (const [id, credentials] of this.#live) {
      if (ids.has(id)) continue;
      this.#put(id, []);
      for (const credential of credentials) if (!credential.isOver) this.#tell(credential, nowMs);
    }
  }

  /** Reports secrets that have ended since. */
  sweep(nowMs: number): void {
    for (const credential of this.#ending) {
      const wasOver = credential.isOver;
      credential.isOver = credential.endsAtMs <= nowMs;
      if (credential.isOver && !wasOver) this.#tell(credential, nowMs);
    }
  }

  #put(id: string, credentials: readonly Credential[]): void {
    for (const credential of this.#live.get(id) ?? []) this.#ending.delete(credential);
    for (const credential of credentials) if (credential.endsAtMs !== Number.POSITIVE_INFINITY) this.#ending.add(credential);
    if (credentials.length > 0) this.#live.set(id, credentials);
    else this.#live.delete(id);
  }

  #tell({ principal, endsAtMs }: Credential, nowMs: number): void {
    this.#listener.onGone(principal.credential, endsAtMs <= nowMs ? 'expired' : 'revoked');
  }
}

/** Index of the equal element, or -1. It always compares all elements, so that the time reveals nothing. */
function matching<K extends 'hash' | 'digest'>(credentials: readonly Pick<Credential, K>[], by: K, bytes: Uint8Array): number {
  let found = -1;
  for (const [index, credential] of credentials.entries()) if (timingSafeEqual(credential[by], bytes)) found = index;
  return found;
}

function credentialsOf(key: StoredKey, plans: Plans, nowMs: number): readonly Credential[] {
  const { id, accountId, scopes, ipRanges, label } = key;
  const own = { keyId: id, accountId, plan: planOf(plans[key.plan], key.limits), plans, scopes, ipRanges, label };
  return key.secrets.map(({ number, hash: stored, endsAtMs }) => ({
    principal: { ...own, credential: `${id}.${number}`, expiresAtMs: endsAtMs },
    hash: stored,
    endsAtMs: endsAtMs ?? Number.POSITIVE_INFINITY,
    isOver: endsAtMs !== null && endsAtMs <= nowMs,
    digest: unseen,
  }));
}

/** The plan with the limits of the key. If the key sets a rate but no burst, the burst follows from the rate as in a plan. */
export function planOf(plan: Plan, limits: KeyLimits | null): Plan {
  if (limits === null) return plan;
  const { requestsPerMinute } = limits;
  const burst = requestsPerMinute === undefined ? plan.burst : Math.ceil((plan.burst * requestsPerMinute) / plan.requestsPerMinute);
  return { ...plan, burst, ...limits };
}
