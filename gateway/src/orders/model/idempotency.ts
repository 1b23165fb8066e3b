/** An `Idempotency-Key` as it was used: it stands for one body of one endpoint of one owner. */
export interface IdempotencyUse {
  /** The endpoint's `id`. */
  readonly endpoint: string;
  readonly key: string;
  /** SHA-256 of the canonical body. */
  readonly fingerprint: Uint8Array;
}
