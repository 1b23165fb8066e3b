import type { Plan, Plans } from '@sluice/shared/config/plans.ts';
import type { StoredKey } from '../store/sql/tables/keys.ts';

/** The caller: the API key that authenticated, and what it may do. Contains no secret. */
export interface Principal extends Pick<StoredKey, 'accountId' | 'scopes' | 'ipRanges' | 'label'> {
  readonly keyId: string;
  /** `<key id>.<n>`: the secret of the key that was used. During a rotation, a key has two. */
  readonly credential: string;
  /** The limits of the key's plan, with the limits set for this key. */
  readonly plan: Plan;
  /** All plans, so that a refusal can name those that include what this one lacks. */
  readonly plans: Plans;
  /** When the secret that was used expires, Unix milliseconds. Null: it does not expire. */
  readonly expiresAtMs: number | null;
}

export interface Authenticator {
  /** Null: no key, malformed, unknown, revoked or expired; the caller gets UNAUTHENTICATED and no details. */
  authenticate(apiKey: string): Principal | null;
  /** The principal of a credential that was valid before; null if it is no longer valid. As of the last read of the store. */
  principalOf(credential: string): Principal | null;
  /** Records that a session used the key. `authenticate` records it by itself. */
  noteUse(keyId: string): void;
  /** Writes the last uses to the store, if there is one, so that a list shows them. They are also written from time to time. Never rejects. */
  writeUses(): Promise<void>;
  /**
   * Reports each credential within a second after it became invalid (revoked, replaced, expired), also by another process. The listener must
   * close what uses it, for example sockets. Returns a function that stops the reports.
   */
  onRevoked(listener: (credential: string, reason: 'revoked' | 'expired') => void): () => void;
  /**
   * Reports each valid credential within a second after its plan or limits changed. The listener must apply the new ones. Returns a function
   * that stops the reports.
   */
  onReplanned(listener: (principal: Principal) => void): () => void;
  /**
   * Resolves when all changes before the call are known, for example a key that was just created. Calls share one read of the store, with at
   * most about twenty reads per second. Never rejects.
   */
  refresh(): Promise<void>;
}
