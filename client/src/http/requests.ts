import { SluiceError } from '../errors.ts';
import type { ErrorBody } from '../wire.ts';

export interface RequestOptions {
  /** Ends the request. */
  readonly signal?: AbortSignal;
}

export interface RequesterOptions {
  /** One or more addresses of gateways. After a failure that the request did not cause, the next address is used. */
  readonly urls: readonly string[];
  readonly apiKey: (() => Promise<string>) | null;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  /** How often one request is repeated after a temporary failure. */
  readonly retries: number;
  readonly random: () => number;
}

interface Request extends RequestOptions {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** With it, a repeated request returns the outcome of the first one. */
  readonly idempotencyKey?: string;
  /** The request can be repeated safely. */
  readonly isSafe: boolean;
}

const firstPauseMs = 200;
const maxPauseMs = 5_000;
/** A longer `Retry-After` is left to the caller. */
const maxRetryAfterMs = 30_000;
/** While the first request with an Idempotency-Key is under way, its outcome is asked for until this time after the first attempt. */
const underWayMs = 30_000;

/**
 * Sends requests. Repeats one only if that is safe: it changes nothing, or has an Idempotency-Key. It does so after a failure of the network
 * or an answer that says `retryable`, and not before its `Retry-After`.
 */
export class Requester {
  readonly #options: RequesterOptions;
  #turn = 0;

  constructor(options: RequesterOptions) {
    this.#options = options;
  }

  async send<T>(request: Request): Promise<T> {
    const startedMs = Date.now();
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once<T>(request);
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error;
        // The limits of a key are the same at all gateways.
        if (error.retryable && error.code !== 'RATE_LIMIT') this.#turn++;
        const isUnderWay = error.code === 'IDEMPOTENCY_IN_PROGRESS' && Date.now() - startedMs < underWayMs;
        const pauseMs = this.#pauseMs(error, isUnderWay ? Math.min(attempt, 1) : attempt);
        const mayRepeat = request.isSafe && error.retryable && (isUnderWay || attempt < this.#options.retries);
        if (!mayRepeat || pauseMs === null) throw error;
        await pause(pauseMs, request.signal);
      }
    }
  }

  /** Null: the gateway asks for a longer pause than a caller would wait. */
  #pauseMs({ details }: SluiceError, attempt: number): number | null {
    const asked = Number(details['retryAfterMs'] ?? 0);
    if (asked > maxRetryAfterMs) return null;
    const backoffMs = Math.min(maxPauseMs, firstPauseMs * 2 ** attempt) * (0.5 + this.#options.random() / 2);
    return Math.max(asked, backoffMs);
  }

  async #once<T>({ method, path, query = {}, body, idempotencyKey, signal }: Request): Promise<T> {
    const isAborted = (): boolean => signal?.aborted === true;
    const { urls, apiKey, timeoutMs } = this.#options;
    // React Native's URL cannot be changed.
    const fields = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]));
    const target = `${urls[this.#turn % urls.length]}${path}${fields.length > 0 ? '?' : ''}${fields.join('&')}`;
    const headers: Record<string, string> = {
      ...(apiKey !== null && { Authorization: `Bearer ${await apiKey()}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    };
    if (isAborted()) throw signal?.reason as Error;
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), timeoutMs);
    const stop = (): void => ended.abort();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const answer = await this.#options.fetch(target, {
        method,
        headers,
        signal: ended.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return await readAnswer<T>(answer);
    } catch (error) {
      if (error instanceof SluiceError) throw error;
      if (isAborted()) throw signal?.reason as Error;
      if (ended.signal.aborted) throw new SluiceError(`No answer within ${timeoutMs} ms.`, { code: 'TIMEOUT', retryable: true });
      throw new SluiceError(`No answer: ${String(error)}`, { code: 'NETWORK', retryable: true });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
}

async function readAnswer<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    const message = `The answer is not JSON (HTTP ${answer.status}).`;
    throw new SluiceError(message, { code: 'MALFORMED', retryable: answer.status >= 500, status: answer.status });
  }
  if (answer.ok) return json as T;
  const { error, requestId } = json as Partial<ErrorBody>;
  if (error === undefined) {
    throw new SluiceError(`HTTP ${answer.status}`, { code: 'MALFORMED', retryable: answer.status >= 500, status: answer.status });
  }
  const retryAfterS = Number(answer.headers.get('retry-after') ?? 0);
  const details = retryAfterS > 0 ? { retryAfterMs: retryAfterS * 1_000, ...error.details } : error.details;
  const { code, message, retryable } = error;
  throw new SluiceError(message, { code, retryable, status: answer.status, details, requestId: requestId ?? null });
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
