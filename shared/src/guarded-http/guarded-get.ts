import type { FetchFault } from './fetch-fault.ts';
import { parseUrl } from './parse-url.ts';
import { requestOnce } from './request.ts';
import { allowsUrl, hostOf, type FetchRules } from './rules.ts';
import type { FetchSlots } from './slots.ts';

const maxRedirects = 3;

export interface GetOptions {
  readonly accept: string;
  readonly maxBytes: number;
  /** Time from the start of its turn, redirects included. */
  readonly timeoutMs: number;
  /** Time to wait for its turn. */
  readonly waitMs: number;
}

export type Fetched = { readonly ok: true; readonly body: Buffer } | { readonly ok: false; readonly reason: FetchFault };

const failed = (reason: FetchFault): Fetched => ({ ok: false, reason });

/**
 * Gets the content of a URL that anyone may have written. Before each request, even after a redirect, the rules check the URL and every
 * address of its host. The connection is made to a checked address. Never rejects.
 */
export async function guardedGet(url: URL, options: GetOptions, rules: FetchRules, slots: FetchSlots, life: Life): Promise<Fetched> {
  if (!allowsUrl(url, rules)) return failed('refused');
  const timer = life.timer();
  let release: (() => void) | null = null;
  try {
    timer.set(options.waitMs);
    release = await slots.enter(url.hostname, timer.signal);
    if (release === null) return failed(life.closed ? 'closed' : 'busy');
    timer.set(options.timeoutMs);
    let at = url;
    for (let redirects = 0; ; redirects++) {
      const step = await oneStep(at, options, rules, timer.signal);
      if (timer.signal.aborted) return failed(life.closed ? 'closed' : 'timeout');
      if (!('next' in step)) return step;
      if (redirects === maxRedirects) return failed('redirects');
      if (step.next.hostname !== at.hostname) {
        release();
        release = await slots.enter(step.next.hostname, timer.signal);
        if (release === null) return failed(life.closed ? 'closed' : 'busy');
      }
      at = step.next;
    }
  } finally {
    release?.();
    timer.end();
  }
}

async function oneStep(url: URL, options: GetOptions, rules: FetchRules, signal: AbortSignal): Promise<Fetched | { readonly next: URL }> {
  const host = hostOf(url);
  if (host === null) return failed('refused');
  const addresses = 'address' in host ? [host.address] : await unlessAborted(rules.resolve(host.name, signal), signal);
  if (addresses === null || addresses.length === 0) return failed('unresolved');
  // If a host has both public and other addresses, this is an attack or a mistake, so none of them is contacted.
  if (!addresses.every((address) => rules.allowsAddress(address))) return failed('refused');
  const answer = await requestOnce(url, addresses, { ...options, signal });
  if (answer.kind === 'fault') return failed(answer.reason);
  if (answer.kind === 'body') return { ok: true, body: answer.body };
  const next = parseUrl(answer.location, url);
  return next !== null && allowsUrl(next, rules) ? { next } : failed('refused');
}

/** Null if `signal` aborts first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(null);
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

/** A time limit that can be restarted, and that ends early if its owner closes. */
export interface Timer {
  readonly signal: AbortSignal;
  set(ms: number): void;
  end(): void;
}

/** Running work, which ends with its owner. */
export class Life {
  readonly #running = new Set<AbortController>();
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  timer(): Timer {
    const controller = new AbortController();
    if (this.#closed) controller.abort();
    else this.#running.add(controller);
    let timeout: NodeJS.Timeout | undefined;
    return {
      signal: controller.signal,
      set: (ms) => {
        clearTimeout(timeout);
        timeout = setTimeout(() => controller.abort(), ms);
      },
      end: () => {
        clearTimeout(timeout);
        this.#running.delete(controller);
      },
    };
  }

  close(): void {
    this.#closed = true;
    for (const controller of this.#running) controller.abort();
  }
}
