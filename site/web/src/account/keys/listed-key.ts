export interface ListedKey {
  readonly id: string;
  readonly prefix: string;
  readonly label: string | null;
  readonly plan: string;
  readonly scopes: readonly string[];
  readonly ipRanges: readonly string[];
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly state: 'active' | 'expired' | 'revoked';
  /** Requests in each of the last minutes, oldest first, as the gateway that answered counted them; null if there were none. */
  readonly minutes: { readonly accepted: readonly number[]; readonly refused: readonly number[] } | null;
  readonly stream: { readonly connections: number; readonly subscriptions: number };
  readonly planLimits: { readonly requestsPerMinute: number; readonly connections: number; readonly subscriptions: number };
  readonly secrets: readonly { readonly endsAtMs: number | null }[];
}
export function nameOfKey({ prefix, label }: Pick<ListedKey, 'prefix' | 'label'>): string {
  return label === null ? prefix : `${prefix} (${label})`;
}
