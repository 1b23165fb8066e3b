/** Names of the plans. Their limits are configuration: `shared/src/config/plans.ts`. */
export const planNames = ['standard', 'premium', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

/** What an API key may be used for. */
export const scopes = ['stream', 'read', 'trade'] as const;
export type Scope = (typeof scopes)[number];
