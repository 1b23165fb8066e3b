export const planNames = ['standard', 'premium', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

export const scopes = ['stream', 'read', 'trade'] as const;
export type Scope = (typeof scopes)[number];

/** Who calls: the API key that authenticated, with what it may do. Carries no secret. */
export interface Principal {
  readonly keyId: string;
  readonly plan: PlanName;
  readonly scopes: readonly Scope[];
  readonly label: string | null;
}

export interface Authenticator {
  /** Null: no key, malformed, unknown, revoked or expired; the caller is told UNAUTHENTICATED and no more. */
  authenticate(apiKey: string): Principal | null;
}
