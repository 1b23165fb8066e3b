/** One use of an `Idempotency-Key`. An owner may use a key for one request only: one endpoint, and one body. */
export interface IdempotencyUse {
  readonly key: string;
  /** SHA-256 of the endpoint and the canonical body. */
  readonly fingerprint: Uint8Array;
}
