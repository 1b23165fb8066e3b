import type { FetchFault } from './outcome.ts';
import { parseUrl } from './parse-url.ts';
import { requestOnce } from './request.ts';
import { allowsUrl, hostOf, type FetchRules } from './rules.ts';
import type { FetchSlots } from './slots.ts';

const maxRedirects = 3;

export interface Wanted {
  readonly accept: string;
  readonly maxBytes: number;
  /** From the moment that it has its turn, redirects included. */
  readonly timeoutMs: number;
  /** For its turn. */
  readonly waitMs: number;
}

export type Fetched = { readonly ok: true; readonly body: Buffer } | { readonly ok: false; readonly reason: FetchFault };

const failed = (reason: FetchFault): Fetched => ({ ok: false, reason });

/**
 * Gets what is at a URL that anybody may have written. Before each request, redirected ones too, the URL and every address of its
 * host are checked by the rules, and the connection goes to an address that was checked. Never rejects.
 */
export async function guardedGet(url: URL, wanted: Wanted, rules: FetchRules, slots: FetchSlots, life: Life): Promise<Fetched> {
  if (!allowsUrl(url, rules)) return failed('refused');
  const timer = life.timer();
  let release: (() => void) | null = null;
  try {
    timer.set(wanted.waitMs);
    release = await slots.enter(url.hostname, timer.signal);
    if (release === null) return failed(life.closed ? 'closed' : 'busy');
    timer.set(wanted.timeoutMs);
    let at = url;
    for (let redirects = 0; ; redirects++) {
      const step = await oneStep(at, wanted, rules, timer.signal);
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

async function oneStep(url: URL, wanted: Wanted, rules: FetchRules, signal: AbortSignal): Promise<Fetched | { readonly next: URL }> {
  const host = hostOf(url);
  if (host === null) return failed('refused');
  const addresses = 'address' in host ? [host.address] : await unlessAborted(rules.resolve(host.name, signal), signal);
  if (addresses === null || addresses.length === 0) return failed('unresolved');
  // One that is not public among others is an attempt, or a mistake; neither is asked.
  if (!addresses.every((address) => rules.allowsAddress(address))) return failed('refused');
  const answer = await requestOnce(url, addresses, { ...wanted, signal });
  if (answer.kind === 'fault') return failed(answer.reason);
  if (answer.kind === 'body') return { ok: true, body: answer.body };
  const next = parseUrl(answer.location, url);
  return next !== null && allowsUrl(next, rules) ? { next } : failed('refused');
}

/** Null where `signal` aborts first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(null);
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

/** A time limit that can be set anew, and ends early where its owner closes. */
export interface Timer {
  readonly signal: AbortSignal;
  set(ms: number): void;
  end(): void;
}

/** What is under way ends with its owner. */
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
