import { isHeaderValue } from '../check-options.ts';
import { SluiceError } from '../errors.ts';
import { cannotReach, causeOf, Outage } from '../outage.ts';
import type { ErrorBody } from '../wire.ts';

export interface RequestOptions {
  /** Ends the request. */
  readonly signal?: AbortSignal;
}

export interface RequesterOptions {
  /** One or more URLs of gateways. After a failure that the request did not cause, the client uses the next URL. */
  readonly urls: readonly string[];
  readonly apiKey: (() => Promise<string>) | null;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  /** Maximum number of retries of one request after temporary failures. */
  readonly retries: number;
  readonly random: () => number;
}

export interface Request extends RequestOptions {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** A retry with the same key returns the outcome of the first request. */
  readonly idempotencyKey?: string;
  /** Fields of a successful answer, with what each must be. */
  readonly expected: Expected;
}

export type Expected = Readonly<Record<string, (value: unknown) => boolean>>;

const firstPauseMs = 200;
const maxPauseMs = 5_000;
/** Characters of an answer; far more than the longest one of sluice. */
const maxChars = 16 * 1024 * 1024;
/** The gateway accepts no longer key. */
const maxIdempotencyKeyChars = 255;
/** If `Retry-After` is longer, the client does not retry and throws the error. */
const maxRetryAfterMs = 30_000;
/** If the gateway answers IDEMPOTENCY_IN_PROGRESS, the client repeats the request for this long after the first attempt. */
const inProgressMs = 30_000;

/**
 * Sends requests. Each may be repeated: it changes nothing, has an Idempotency-Key, cancels triggers, or makes or sets a paper wallet. A retry follows
 * a network failure, or an answer with `retryable`, and waits at least for `Retry-After`.
 */
export class Requester {
  readonly #options: RequesterOptions;
  readonly #outage = new Outage();
  #urlIndex = 0;

  constructor(options: RequesterOptions) {
    this.#options = options;
  }

  /** The error of a request with an Idempotency-Key contains the key. */
  async send<T>(request: Request): Promise<T> {
    const { idempotencyKey } = request;
    if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey)) {
      throw wrongRequest(`idempotencyKey must have 1 to ${maxIdempotencyKeyChars} printable ASCII characters without spaces.`);
    }
    const startedMs = performance.now();
    let last: SluiceError | null = null;
    let isUnknown = false;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once<T>(request);
      } catch (fault) {
        // The outcome of the previous attempt counts more than a function `apiKey` that fails now.
        if (!(fault instanceof SluiceError)) throw request.signal?.aborted === true ? fault : (last ?? fault);
        // A refusal of a later attempt does not show what became of a lost one.
        isUnknown ||= fault.code === 'NETWORK' || fault.code === 'TIMEOUT' || fault.code === 'MALFORMED';
        const error = idempotencyKey === undefined ? fault : withKey(fault, idempotencyKey, isUnknown);
        last = error;
        // The limits of a key are the same at all gateways.
        const hasMoved = error.code === 'SLIPPAGE_EXCEEDED';
        if (error.retryable && !hasMoved && error.code !== 'RATE_LIMIT') this.#urlIndex++;
        const isInProgress = error.code === 'IDEMPOTENCY_IN_PROGRESS' && performance.now() - startedMs < inProgressMs;
        const pauseMs = this.#pauseMs(error, isInProgress ? Math.min(attempt, 1) : attempt);
        // A repeated order would be quoted again, and trade at a price that the caller has not seen.
        const mayRepeat = error.retryable && !hasMoved && (isInProgress || attempt < this.#options.retries);
        if (!mayRepeat || pauseMs === null) throw error;
        if (fault.code === 'NETWORK' || fault.code === 'TIMEOUT') this.#outage.begin(fault.message.replace(/\.$/, ''));
        await pause(pauseMs, request.signal);
      }
    }
  }

  /** Returns null if the gateway asks for a pause longer than `maxRetryAfterMs`. */
  #pauseMs({ details }: SluiceError, attempt: number): number | null {
    const asked = Number(details['retryAfterMs'] ?? 0) || 0;
    if (asked > maxRetryAfterMs) return null;
    const backoffMs = Math.min(maxPauseMs, firstPauseMs * 2 ** attempt) * (0.5 + this.#options.random() / 2);
    return Math.max(asked, backoffMs);
  }

  async #once<T>({ method, path, query = {}, body, idempotencyKey, signal, expected }: Request): Promise<T> {
    const isAborted = (): boolean => signal?.aborted === true;
    const { urls, apiKey, timeoutMs } = this.#options;
    // In React Native, the properties of `URL` are read-only, so the query is built by hand.
    const fields = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]));
    const gateway = urls[this.#urlIndex % urls.length]!;
    const target = `${gateway}${path}${fields.length > 0 ? '?' : ''}${fields.join('&')}`;
    const key = await apiKey?.();
    if (key !== undefined && !isHeaderValue(key)) throw wrongRequest('apiKey must have printable ASCII characters only.');
    const headers: Record<string, string> = {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    };
    const text = body === undefined ? null : encode(body);
    if (isAborted()) throw signal?.reason as Error;
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), timeoutMs);
    const stop = (): void => ended.abort();
    signal?.addEventListener('abort', stop, { once: true });
    let isReached = false;
    try {
      const answer = await this.#options.fetch(target, {
        method,
        headers,
        signal: ended.signal,
        // Another address must not receive the API key, nor the order.
        redirect: 'manual',
        ...(text !== null && { body: text }),
      });
      isReached = true;
      this.#outage.end();
      return await readAnswer<T>(answer, expected, idempotencyKey !== undefined);
    } catch (error) {
      if (error instanceof SluiceError) throw error;
      if (isAborted()) throw signal?.reason as Error;
      if (ended.signal.aborted) throw new SluiceError(`No answer within ${timeoutMs} ms.`, { code: 'TIMEOUT', retryable: true });
      const reason = isReached ? `the answer broke off (${causeOf(error)})` : cannotReach(gateway, causeOf(error));
      throw new SluiceError(`No answer: ${reason}.`, { code: 'NETWORK', retryable: true });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
}

/** With an Idempotency-Key, an answer that is not from sluice may hide an order, so the request is repeated with any status. */
async function readAnswer<T>(answer: Response, expected: Expected, hasIdempotencyKey: boolean): Promise<T> {
  const { ok, status, headers, type, redirected } = answer;
  // A browser hides the status of a redirect. React Native follows it in any case.
  const isRedirect = redirected || type === 'opaqueredirect' || (status >= 300 && status < 400);
  const text = isRedirect ? null : await boundedText(answer);
  const json = text === null ? null : parse(text);
  const fields = (json ?? {}) as Readonly<Record<string, unknown>>;
  if (ok && json !== null && Object.entries(expected).every(([name, fits]) => fits(fields[name]))) return json as T;
  const { error, requestId = null } = (ok ? {} : fields) as Partial<ErrorBody>;
  const retryAfterMs = readRetryAfter(headers);
  const wait = retryAfterMs > 0 ? { retryAfterMs } : {};
  if (typeof error?.code !== 'string') {
    const retryable = hasIdempotencyKey || status >= 500 || status === 429;
    const what = isRedirect ? 'The address redirects to another one, which the client does not follow' : 'The answer is not from sluice';
    throw new SluiceError(`${what} (HTTP ${status}).`, { code: 'MALFORMED', retryable, status, details: wait });
  }
  const { code, message, retryable, details } = error;
  throw new SluiceError(message, { code, retryable, status, details: { ...wait, ...details }, requestId });
}

/** The text of an answer. Null if it is too long: the rest is then not read. */
async function boundedText(answer: Response): Promise<string | null> {
  if (Number(answer.headers.get('content-length') ?? 0) > maxChars) {
    await answer.body?.cancel();
    return null;
  }
  // React Native gives no access to the parts of an answer.
  const reader = (answer.body as ReadableStream<Uint8Array> | undefined | null)?.getReader();
  if (reader === undefined) {
    const text = await answer.text();
    return text.length > maxChars ? null : text;
  }
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > maxChars) {
      await reader.cancel();
      return null;
    }
  }
}

/** Null if the text is not a JSON object. */
function parse(text: string): object | null {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' ? json : null;
  } catch {
    return null;
  }
}

/** `Retry-After` is a number of seconds or a date (RFC 9110, 10.2.3). A date is compared with the clock of the server, never with our own. */
function readRetryAfter(headers: Headers): number {
  const text = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  return Date.parse(text) - Date.parse(headers.get('date') ?? '') || 0;
}

function encode(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    throw wrongRequest(`The body is not JSON: ${String(error)}`);
  }
}

function isIdempotencyKey(text: unknown): boolean {
  return typeof text === 'string' && text.length > 0 && text.length <= maxIdempotencyKeyChars && isHeaderValue(text) && !text.includes(' ');
}

function withKey(fault: SluiceError, idempotencyKey: string, isUnknown: boolean): SluiceError {
  const { code, retryable, status, details, requestId } = fault;
  const advice = `The outcome is unknown: call again with the same body and the idempotencyKey ${idempotencyKey}.`;
  const text = isUnknown ? `${fault.message.replace(/\.$/, '')}. ${advice}` : fault.message;
  return new SluiceError(text, { code, retryable, status, details, requestId, idempotencyKey });
}

/** Nothing was sent. */
export function wrongRequest(message: string): SluiceError {
  return new SluiceError(message, { code: 'INVALID_REQUEST', retryable: false });
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
