/**
 * All errors that a client can receive. The HTTP status, the WebSocket close code, the `retryable` flag and the documents come from this
 * table. `closeCode` is set if the error ends a socket: after 4000-4499 the client should connect again, after 4500-4999 it should not.
 */
interface ErrorSpec {
  readonly status: number;
  readonly retryable: boolean;
  readonly message: string;
  readonly closeCode?: number;
}

const specs = {
  INVALID_REQUEST: { status: 400, retryable: false, message: 'The request is not of the documented form.', closeCode: 4500 },
  INVALID_MINT: { status: 400, retryable: false, message: 'Not the address of a token mint.' },
  INSUFFICIENT_BALANCE: { status: 400, retryable: false, message: 'The wallet holds less than the order needs.' },
  SLIPPAGE_EXCEEDED: { status: 400, retryable: true, message: 'The price moved further than the slippage allows.' },
  TRANSACTION_EXPIRED: {
    status: 400,
    retryable: true,
    message: 'The transaction has expired: the chain does not accept its blockhash any more. Build it again.',
  },
  SIMULATION_FAILED: {
    status: 400,
    retryable: false,
    message: 'A program refused the transaction: in its simulation, or on the chain if the order has landed.',
  },
  UNAUTHENTICATED: { status: 401, retryable: false, message: 'No valid API key.', closeCode: 4501 },
  FORBIDDEN: { status: 403, retryable: false, message: 'The plan or scope of this API key does not reach this.', closeCode: 4503 },
  NOT_FOUND: { status: 404, retryable: false, message: 'There is nothing at this address.' },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, message: 'The method is not allowed here.' },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, retryable: true, message: 'A request with this Idempotency-Key is still in progress.' },
  IDEMPOTENCY_MISMATCH: { status: 422, retryable: false, message: 'This Idempotency-Key was used for another request.' },
  PAYLOAD_TOO_LARGE: { status: 413, retryable: false, message: 'The body is too large.', closeCode: 4513 },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false, message: 'The content type is not supported.' },
  RATE_LIMIT: { status: 429, retryable: true, message: 'Too many requests.', closeCode: 4029 },
  INTERNAL: { status: 500, retryable: true, message: 'An unexpected fault; the request id leads to it in the log.', closeCode: 4011 },
  UPSTREAM_UNAVAILABLE: { status: 503, retryable: true, message: 'A service behind the gateway does not answer.', closeCode: 4014 },
  TRADING_HALTED: { status: 503, retryable: true, message: 'Trading is halted.' },
  DRAINING: { status: 503, retryable: true, message: 'This gateway is about to restart; connect again.', closeCode: 4012 },
  SLOW_CONSUMER: {
    status: 503,
    retryable: true,
    message: 'The client reads more slowly than its subscriptions produce; resume with `since`.',
    closeCode: 4008,
  },
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof specs;

/** code -> {status, retryable, message, closeCode?}. HTTP answers, stream replies and the documents use this table. */
export const errorTable: Readonly<Record<ErrorCode, ErrorSpec>> = specs;

/** The body of an error in HTTP answers (in addition to `requestId`) and stream replies. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Builds the body of one error. `message` replaces the table's general sentence if the caller knows more. */
export function errorBody(code: ErrorCode, message?: string, details: Readonly<Record<string, unknown>> = {}): ErrorBody {
  const spec = errorTable[code];
  return { code, message: message ?? spec.message, retryable: spec.retryable, details };
}

/** An error as strings, for clients that read only strings: code and message, then each wrong field. */
export function errorTexts({
  code,
  message,
  details = {},
}: Pick<ErrorBody, 'message'> & { readonly code: string; readonly details?: ErrorBody['details'] }): string[] {
  const { fields } = details;
  const named = typeof fields === 'object' && fields !== null ? Object.entries(fields) : [];
  return [`${code}: ${message}`, ...named.map(([name, what]) => `${name}: ${String(what)}`)];
}
