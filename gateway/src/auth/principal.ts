import type { Plan } from '@sluice/shared/config/plans.ts';
import type { Scope } from '@sluice/shared/wire/plans.ts';

/** The caller: the API key that authenticated, and what it may do. Contains no secret. */
export interface Principal {
  readonly keyId: string;
  /** `<key id>.<n>`: which of the key's secrets was shown. While a key is rotated it has two for a time. */
  readonly credential: string;
  /** Account that the key belongs to; null for a key of the operator's. */
  readonly accountId: string | null;
  /** The limits of the key's plan, with the limits set for this key. */
  readonly plan: Plan;
  readonly scopes: readonly Scope[];
  /** Addresses (CIDR) from which the key may be used; empty: from anywhere. */
  readonly ipRanges: readonly string[];
  readonly label: string | null;
  /** When the secret that was used expires, Unix milliseconds. Null: it does not expire. */
  readonly expiresAtMs: number | null;
}

export interface Authenticator {
  /** Null: no key, malformed, unknown, revoked or expired; the caller gets UNAUTHENTICATED and no details. */
  authenticate(apiKey: string): Principal | null;
  /** The principal of a credential that was valid before; null if it is not valid any more. As of the last read of the store. */
  principalOf(credential: string): Principal | null;
  /**
   * Reports within a second every credential that is not valid any more (revoked, rotated away, expired), whichever
   * process did it: close what still uses it, above all sockets. Returns a function that stops the reports.
   */
  onRevoked(listener: (credential: string, reason: 'revoked' | 'expired') => void): () => void;
  /**
   * Reports within a second every valid credential whose plan or own limits have changed:
   * what still uses it follows the new plan. Returns a function that stops the reports.
   */
  onReplanned(listener: (principal: Principal) => void): () => void;
  /**
   * Resolves when every change made before the call is seen: a key that was made a moment ago is known then. Bounded, however often
   * it is called: calls share one look at the store, and there are some twenty a second at most. Never rejects.
   */
  refresh(): Promise<void>;
}
