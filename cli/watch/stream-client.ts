import { pause } from '@sluice/shared/abort/pause.ts';
import type { CandleInterval } from '@sluice/shared/wire/intervals.ts';
import type { Channel } from '@sluice/shared/wire/topics.ts';
import { WebSocket } from 'ws';

export interface Subscription {
  readonly channel: Channel;
  readonly mints: readonly string[];
  readonly accounts: readonly string[];
  /** For candles; null for other channels. */
  readonly interval: CandleInterval | null;
}

export interface StreamHandlers {
  onEvent(event: unknown): void;
  /** A message for the user: connected, connection lost, gap. */
  onNotice(text: string): void;
}

export interface StreamOptions {
  readonly url: string;
  readonly subscription: Subscription;
  /** Called before each connection. Null: no process listens there yet. */
  readonly apiKey: () => Promise<string | null>;
  /** Whether `apiKey` returns a new key each time, so that a refused one can be replaced. */
  readonly renewsKey: boolean;
  readonly handlers: StreamHandlers;
  readonly signal: AbortSignal;
}

/** Why the stream cannot continue; null if the caller ended it. */
export type StreamEnd = string | null;

const firstRetryMs = 250;
const maxRetryMs = 10_000;
/** The gateway sends something every second. After this time without data, the connection is considered dead. */
const silentMs = 6_000;
const handshakeTimeoutMs = 10_000;
/** Event ids that are remembered, so that an event on two topics is shown once. The oldest are dropped. */
const maxSeenIds = 8192;

type Outcome =
  | { readonly kind: 'lost'; readonly why: string; readonly wasLive: boolean; readonly waitMs: number | null }
  | { readonly kind: 'final'; readonly why: StreamEnd };

interface Positions {
  readonly [topic: string]: { readonly epoch: string; readonly seq: number };
}

/** Follows one subscription. After a lost connection, the next one resumes where it stopped. */
export async function followStream(options: StreamOptions): Promise<StreamEnd> {
  const session = new StreamSession(options);
  let retryMs = firstRetryMs;
  for (;;) {
    if (options.signal.aborted) return null;
    const outcome = await session.connect();
    if (outcome.kind === 'final') return outcome.why;
    if (outcome.wasLive) retryMs = firstRetryMs;
    const waitMs = outcome.waitMs ?? retryMs * (0.5 + Math.random() / 2);
    options.handlers.onNotice(`${outcome.why}; reconnecting in ${(waitMs / 1000).toFixed(1)} s`);
    await pause(waitMs, options.signal);
    retryMs = Math.min(retryMs * 2, maxRetryMs);
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

function shownValue(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : 'unknown';
}

class StreamSession {
  readonly #options: StreamOptions;
  #positions = new Map<string, { readonly epoch: string; seq: number }>();
  readonly #seen = new Set<string>();
  #waitMs: number | null = null;
  #isLive = false;
  #refusal: string | null = null;

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  /** One connection from its beginning to its end. */
  async connect(): Promise<Outcome> {
    const apiKey = await this.#options.apiKey();
    const { url, signal } = this.#options;
    if (signal.aborted) return { kind: 'final', why: null };
    if (apiKey === null) return { kind: 'lost', why: `no process listens at ${new URL(url).host}`, wasLive: false, waitMs: null };
    this.#waitMs = null;
    this.#isLive = false;
    this.#refusal = null;
    return new Promise((resolve) => {
      const socket = new WebSocket(url, {
        headers: { authorization: `Bearer ${apiKey}` },
        handshakeTimeout: handshakeTimeoutMs,
        maxPayload: 16 * 1024 * 1024,
      });
      let failure: string | null = null;
      let status = 0;
      let watchdog: NodeJS.Timeout | undefined;
      const onAbort = (): void => socket.terminate();
      signal.addEventListener('abort', onAbort);
      socket.on('open', () => {
        socket.send(JSON.stringify(this.#subscribeCommand()));
        watchdog = setTimeout(() => {
          failure = `no data for ${silentMs / 1000} s`;
          socket.terminate();
        }, silentMs);
      });
      socket.on('message', (data, isBinary) => {
        watchdog?.refresh();
        if (!isBinary && data instanceof Buffer) this.#onMessage(data.toString('utf8'), socket);
      });
      socket.on('unexpected-response', (_request, response) => {
        status = response.statusCode ?? 0;
        response.resume();
        socket.terminate();
      });
      socket.on('error', (error) => (failure ??= error.message));
      socket.on('close', (code, reason) => {
        clearTimeout(watchdog);
        signal.removeEventListener('abort', onAbort);
        resolve(this.#outcome(status, code, reason.toString('utf8'), failure));
      });
    });
  }

  #subscribeCommand(): object {
    const { channel, mints, accounts, interval } = this.#options.subscription;
    return {
      id: 1,
      op: 'subscribe',
      channel,
      ...(mints.length > 0 ? { mints } : {}),
      ...(accounts.length > 0 ? { accounts } : {}),
      ...(interval === null ? {} : { interval }),
      ...(this.#positions.size > 0 ? { since: Object.fromEntries(this.#positions) } : {}),
    };
  }

  #onMessage(text: string, socket: WebSocket): void {
    const message = parseObject(text);
    if (message === null) {
      this.#refusal = 'the server there does not use this protocol';
      return socket.close();
    }
    if (typeof message['topic'] === 'string' && message['op'] === undefined) return this.#onFrame(message['topic'], message);
    switch (message['op']) {
      case 'subscribed':
        return this.#onSubscribed(message, socket);
      case 'gap':
        // A gap without an end: the stream continues where the gap begins.
        this.#positions.set(shownValue(message['topic']), {
          epoch: shownValue(message['epoch']),
          seq: Number(message['to'] ?? Number(message['from']) - 1),
        });
        return this.#options.handlers.onNotice(
          `gap in ${shownValue(message['topic'])}: ${shownValue(message['from'])} to ${shownValue(message['to'])} (${shownValue(message['reason'])})`,
        );
      case 'draining':
        this.#waitMs = Math.random() * Number(message['reconnectWithinMs']);
        return;
      case 'error': {
        const { code, message: why } = message['error'] as { readonly code: string; readonly message: string };
        this.#refusal = `${code}: ${why}`;
        socket.close();
        return;
      }
      default:
    }
  }

  #onSubscribed(message: Readonly<Record<string, unknown>>, socket: WebSocket): void {
    const rejected = message['rejected'] as readonly { readonly key: string; readonly code: string }[];
    for (const { key, code } of rejected) this.#options.handlers.onNotice(`${key} is rejected: ${code}`);
    const positions = message['positions'] as Positions;
    if (rejected.length > 0 && Object.keys(positions).length === 0) {
      this.#refusal = 'no key was accepted';
      socket.close();
      return;
    }
    this.#positions = new Map(Object.entries(positions).map(([topic, { epoch, seq }]) => [topic, { epoch, seq }]));
    this.#isLive = true;
    this.#options.handlers.onNotice(`connected to ${this.#options.url}`);
  }

  #onFrame(topic: string, frame: Readonly<Record<string, unknown>>): void {
    const data = frame['data'];
    const position = this.#positions.get(topic);
    if (position !== undefined) position.seq = Number(frame['seq']);
    const id = (data as { readonly id?: unknown }).id;
    const type = (data as { readonly type?: unknown }).type;
    if (typeof id === 'string' && type !== 'retract' && !this.#isNew(id)) return;
    this.#options.handlers.onEvent(data);
  }

  #isNew(id: string): boolean {
    if (this.#seen.has(id)) return false;
    this.#seen.add(id);
    if (this.#seen.size > maxSeenIds) {
      for (const oldest of this.#seen) {
        this.#seen.delete(oldest);
        break;
      }
    }
    return true;
  }

  #outcome(status: number, code: number, reason: string, failure: string | null): Outcome {
    if (this.#options.signal.aborted) return { kind: 'final', why: null };
    if (this.#refusal !== null) return { kind: 'final', why: this.#refusal };
    if (status === 401 || status === 403) return { kind: 'final', why: `the gateway refused the API key (HTTP ${status})` };
    if (code >= 4500 && !(this.#options.renewsKey && this.#isLive)) return { kind: 'final', why: `closed with ${code} ${reason}` };
    const why = failure ?? (status > 0 ? `the gateway answered HTTP ${status}` : `the connection closed with ${code} ${reason}`.trim());
    return { kind: 'lost', why, wasLive: this.#isLive, waitMs: this.#waitMs };
  }
}
