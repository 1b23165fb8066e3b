import { setTimeout as pause } from 'node:timers/promises';
import type { Wish } from './wishes.ts';

/**
 * The last answer that a client received: an order, or a refusal that no retry changes. `too_old`: nobody accepted the caller's own
 * transaction while it could land.
 */
export type FinalAnswer =
  | {
      readonly kind: 'order';
      readonly orderId: string;
      readonly signature: string | null;
      readonly status: string;
      readonly attempts: number;
    }
  | { readonly kind: 'too_old'; readonly attempts: number }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string; readonly message: string; readonly attempts: number };

export interface ClientOptions {
  readonly apiKey: string;
  /** Gateways in the order in which they are tried; requested again before each attempt. */
  readonly urls: () => readonly string[];
}

const attemptMs = 8_000;
const retryMs = 250;
const giveUpMs = 600_000;

interface Answered {
  readonly status: number;
  readonly body: {
    readonly orderId?: string;
    readonly signature?: string | null;
    readonly status?: string;
    readonly error?: {
      readonly code: string;
      readonly message: string;
      readonly retryable: boolean;
      readonly details: Readonly<Record<string, unknown>>;
    };
  };
}

function headersOf({ apiKey }: ClientOptions, { idempotencyKey }: Wish): Record<string, string> {
  return { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
}

/** One request; null if no answer came. */
async function ask(url: string, wish: Wish, options: ClientOptions): Promise<Answered | null> {
  try {
    const response = await fetch(`${url}${wish.path}`, {
      method: 'POST',
      headers: headersOf(options, wish),
      body: JSON.stringify(wish.body),
      signal: AbortSignal.timeout(attemptMs),
    });
    return { status: response.status, body: (await response.json()) as Answered['body'] };
  } catch (error) {
    // The gateway was killed, or has not started yet.
    if (error instanceof TypeError || error instanceof SyntaxError || (error instanceof Error && error.name === 'TimeoutError'))
      return null;
    throw error;
  }
}

/** Requests an order, always with the same `Idempotency-Key`, until the answer is final, as clients should do. */
export async function order(wish: Wish, options: ClientOptions): Promise<FinalAnswer> {
  const endMs = performance.now() + giveUpMs;
  let last: Answered | null = null;
  for (let attempts = 1; performance.now() < endMs; attempts++) {
    const urls = options.urls();
    const url = urls[(attempts - 1) % Math.max(1, urls.length)];
    const answered = url === undefined ? null : await ask(url, wish, options);
    last = answered ?? last;
    const answer = answered === null ? null : conclusion(wish, answered, attempts);
    if (answer !== null) return answer;
    await pause(retryMs);
  }
  throw new Error(`a client never got an answer: ${JSON.stringify({ wish, last })}`);
}

function conclusion({ signature }: Wish, { status, body }: Answered, attempts: number): FinalAnswer | null {
  if (status === 200 && body.orderId !== undefined) {
    return { kind: 'order', orderId: body.orderId, signature: body.signature ?? null, status: body.status ?? '', attempts };
  }
  const { code = '' } = body.error ?? {};
  if (signature !== null && code === 'TRANSACTION_EXPIRED') return { kind: 'too_old', attempts };
  // For example `TRANSACTION_EXPIRED`: this chain jumps ahead, as no real one does, and the gateway has an old blockhash for a second.
  return body.error?.retryable === true ? null : { kind: 'refused', status, code, message: body.error?.message ?? '', attempts };
}
