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
  readonly secrets: readonly { readonly endsAtMs: number | null }[];
}
export function nameOfKey({ prefix, label }: ListedKey): string {
  return label === null ? prefix : `${prefix} (${label})`;
}
