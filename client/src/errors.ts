import type { ErrorCode } from './wire.ts';

export interface SluiceErrorFields {
  readonly code: ErrorCode | 'NETWORK' | 'TIMEOUT' | 'MALFORMED';
  readonly retryable: boolean;
  /** HTTP status; null if no HTTP answer arrived. */
  readonly status?: number | null;
  readonly details?: Readonly<Record<string, unknown>>;
  /** The id of the request in the gateway's log; null if no answer arrived. */
  readonly requestId?: string | null;
  readonly idempotencyKey?: string | null;
}

/**
 * A request or a subscription failed. `code` is from sluice's table of errors, or one of three codes that only the client uses: `NETWORK` (no answer),
 * `TIMEOUT`, and `MALFORMED` (the answer is not from sluice).
 */
export class SluiceError extends Error {
  readonly code: SluiceErrorFields['code'];
  /** The same request may succeed later. */
  readonly retryable: boolean;
  readonly status: number | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  /**
   * The `Idempotency-Key` of `buy` or `sell`, also if the client generated it; null for other requests. If the outcome is unknown, call again with
   * the same body and this key: you get the order that exists, or place the only one.
   */
  readonly idempotencyKey: string | null;

  constructor(message: string, fields: SluiceErrorFields) {
    const { code, retryable, status = null, details = {}, requestId = null, idempotencyKey = null } = fields;
    super(message);
    this.name = 'SluiceError';
    this.code = code;
    this.retryable = retryable;
    this.status = status;
    this.details = details;
    this.requestId = requestId;
    this.idempotencyKey = idempotencyKey;
  }
}
