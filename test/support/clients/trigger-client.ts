import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

/** A trigger as its owner reads it. */
export interface TriggerView {
  readonly triggerId: string;
  readonly status: string;
  readonly orderId: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly waitingFor: string | null;
  readonly parentId: string | null;
  readonly late: boolean;
  readonly [field: string]: unknown;
}

/** The body of `POST /trade/triggers`. */
export type TriggerBody = Readonly<Record<string, unknown>>;

/** The field `then`. In a literal it would look like a promise to the linter. */
export function withChildren(children: readonly TriggerBody[]): TriggerBody {
  return Object.fromEntries(new Map([['then', children]]));
}

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

export interface TriggerClientOptions {
  readonly apiKey: string;
  /** Gateways in the order in which they are tried; requested again before each attempt. */
  readonly urls: () => readonly string[];
}

const attemptMs = 10_000;
const retryMs = 200;
const giveUpMs = 300_000;
const pageSize = 100;

/** A client that repeats a request, with the same `Idempotency-Key`, until a gateway has answered it, as clients should do. */
export class TriggerClient {
  readonly #options: TriggerClientOptions;

  constructor(options: TriggerClientOptions) {
    this.#options = options;
  }

  async arm(body: TriggerBody, idempotencyKey: string = randomUUID()): Promise<TriggerView> {
    return (await this.#done('POST', '/trade/triggers', { body, idempotencyKey })) as TriggerView;
  }

  async get(triggerId: string): Promise<TriggerView> {
    return (await this.#done('GET', `/trade/triggers/${triggerId}`)) as TriggerView;
  }

  async cancel(query: string): Promise<unknown> {
    return await this.#done('DELETE', `/trade/triggers${query}`);
  }

  /** All triggers that match, newest first. */
  async list(filter: Readonly<Record<string, string>> = {}): Promise<readonly TriggerView[]> {
    const all: TriggerView[] = [];
    for (let before: string | null = null; ;) {
      const query = new URLSearchParams({ ...filter, limit: String(pageSize), ...(before === null ? {} : { before }) });
      const page = (await this.#done('GET', `/trade/triggers?${query.toString()}`)) as {
        readonly triggers: readonly TriggerView[];
        readonly next: string | null;
      };
      all.push(...page.triggers);
      before = page.next;
      if (before === null) return all;
    }
  }

  /** Any other read. */
  async read(path: string): Promise<unknown> {
    return await this.#done('GET', path);
  }

  /** An answer that no retry changes; anything else than 200 is an error. */
  async #done(method: string, path: string, send?: { readonly body: TriggerBody; readonly idempotencyKey: string }): Promise<unknown> {
    const endMs = performance.now() + giveUpMs;
    let last: unknown = null;
    for (let attempt = 0; performance.now() < endMs; attempt++) {
      const urls = this.#options.urls();
      const url = urls[attempt % Math.max(1, urls.length)];
      const answered = url === undefined ? null : await this.#ask(`${url}${path}`, method, send);
      if (answered?.status === 200) return answered.body;
      last = answered ?? last;
      const error = (answered?.body as { readonly error?: { readonly retryable: boolean } } | undefined)?.error;
      if (answered !== null && error?.retryable !== true) break;
      await pause(retryMs);
    }
    throw new Error(`${method} ${path} ${JSON.stringify(send?.body)}: ${JSON.stringify(last)}`);
  }

  /** Null if no answer came: the gateway was killed, or has not started yet. */
  async #ask(
    url: string,
    method: string,
    send?: { readonly body: TriggerBody; readonly idempotencyKey: string },
  ): Promise<Answered | null> {
    try {
      const response = await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${this.#options.apiKey}`,
          ...(send === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': send.idempotencyKey }),
        },
        ...(send === undefined ? {} : { body: JSON.stringify(send.body) }),
        signal: AbortSignal.timeout(attemptMs),
      });
      return { status: response.status, body: await response.json() };
    } catch (error) {
      if (error instanceof TypeError || error instanceof SyntaxError || (error instanceof Error && error.name === 'TimeoutError'))
        return null;
      throw error;
    }
  }
}
