export const planNames = ['standard', 'premium', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

export const scopes = ['stream', 'read', 'trade'] as const;
export type Scope = (typeof scopes)[number];

/** Who calls: the API key that authenticated, with what it may do. Carries no secret. */
export interface Principal {
  readonly keyId: string;
  /** `<key id>.<n>`: which of the key's secrets was shown. While a key is rotated it has two for a time. */
  readonly credential: string;
  readonly plan: PlanName;
  readonly scopes: readonly Scope[];
  readonly label: string | null;
}

export interface Authenticator {
  /** Null: no key, malformed, unknown, revoked or expired; the caller is told UNAUTHENTICATED and no more. */
  authenticate(apiKey: string): Principal | null;
  /**
   * Tells within a second of every credential that was valid and is no more (revoked, rotated away, expired), whichever
   * process did it: what still stands on it, a socket above all, is to be closed. Returns the way to stop listening.
   */
  onRevoked(listener: (credential: string, reason: 'revoked' | 'expired') => void): () => void;
}
