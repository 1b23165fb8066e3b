/** One use of an `Idempotency-Key`. An owner may use a key for one request only: one endpoint, and one body. */
export interface IdempotencyUse {
  /** `id` of the endpoint. */
  readonly endpoint: string;
  readonly key: string;
  /** SHA-256 of the canonical body. It must not change from one version to the next: a repeated key would be refused in place of its order. */
  readonly fingerprint: Uint8Array;
}

/** What was used with the key. */
type UsedRequest = Omit<IdempotencyUse, 'key'>;

export function isSameRequest(a: UsedRequest, b: UsedRequest): boolean {
  return a.endpoint === b.endpoint && Buffer.compare(a.fingerprint, b.fingerprint) === 0;
}
