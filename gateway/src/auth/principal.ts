import type { Plan } from '@sluice/shared/config/plans.ts';
import type { Scope } from '@sluice/shared/wire/plans.ts';

/** Who calls: the API key that authenticated, with what it may do. Carries no secret. */
export interface Principal {
  readonly keyId: string;
  /** `<key id>.<n>`: which of the key's secrets was shown. While a key is rotated it has two for a time. */
  readonly credential: string;
  /** Account that the key belongs to; null for a key of the operator's. */
  readonly accountId: string | null;
  /** What the key's plan grants, with what is set for this key alone. */
  readonly plan: Plan;
  readonly scopes: readonly Scope[];
  /** Addresses (CIDR) from which the key may be used; empty: from anywhere. */
  readonly ipRanges: readonly string[];
  readonly label: string | null;
  /** When the secret that was shown ends, Unix time in milliseconds; null where it does not end by itself. */
  readonly expiresAtMs: number | null;
}

export interface Authenticator {
  /** Null: no key, malformed, unknown, revoked or expired; the caller is told UNAUTHENTICATED and no more. */
  authenticate(apiKey: string): Principal | null;
  /** Who stands on a credential that was good before; null where it is no more. Asks nobody: as of the last look at the store. */
  principalOf(credential: string): Principal | null;
  /**
   * Tells within a second of every credential that was valid and is no more (revoked, rotated away, expired), whichever
   * process did it: what still stands on it, a socket above all, is to be closed. Returns the way to stop listening.
   */
  onRevoked(listener: (credential: string, reason: 'revoked' | 'expired') => void): () => void;
  /**
   * Tells within a second of every credential that is good as before and whose plan, or what is set in its place, is another now:
   * what still stands on it goes by the new one. Returns the way to stop listening.
   */
  onReplanned(listener: (principal: Principal) => void): () => void;
  /**
   * Resolves when every change made before the call is seen: a key that was made a moment ago is known then. Bounded, however often
   * it is called: calls share one look at the store, and there are some twenty a second at most. Never rejects.
   */
  refresh(): Promise<void>;
}
