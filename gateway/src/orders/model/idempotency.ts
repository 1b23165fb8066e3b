/** One use of an `Idempotency-Key`. An owner may use a key of an endpoint for one body only. */
export interface IdempotencyUse {
  /** `id` of the endpoint. */
  readonly endpoint: string;
  readonly key: string;
  /** SHA-256 of the canonical body. */
  readonly fingerprint: Uint8Array;
}
