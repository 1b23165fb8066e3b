import { once } from 'node:events';
import { whenAborted } from '../runtime/abort/when-aborted.ts';
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
 * address of its host. The connection is made to a checked address. `closing` ends it early. Never rejects.
 */
export async function guardedGet(
  url: URL,
  options: GetOptions,
  rules: FetchRules,
  slots: FetchSlots,
  closing: AbortSignal,
): Promise<Fetched> {
  if (!allowsUrl(url, rules)) return failed('refused');
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const { signal } = ending;
  const forget = whenAborted(closing, end);
  let timer = setTimeout(end, options.waitMs);
  let release: (() => void) | null = null;
  try {
    release = await slots.enter(url.hostname, signal);
    clearTimeout(timer);
    timer = setTimeout(end, options.timeoutMs);
    let at = url;
    for (let redirects = 0; release !== null; redirects++) {
      const step = await oneStep(at, options, rules, signal);
      if (signal.aborted) return failed(closing.aborted ? 'closed' : 'timeout');
      if (!('next' in step)) return step;
      if (redirects === maxRedirects) return failed('redirects');
      if (step.next.hostname !== at.hostname) {
        release();
        release = await slots.enter(step.next.hostname, signal);
      }
      at = step.next;
    }
    return failed(closing.aborted ? 'closed' : 'busy');
  } finally {
    release?.();
    clearTimeout(timer);
    forget();
  }
}

async function oneStep(url: URL, options: GetOptions, rules: FetchRules, signal: AbortSignal): Promise<Fetched | { readonly next: URL }> {
  const host = hostOf(url);
  if (host === null) return failed('refused');
  if (signal.aborted) return failed('unresolved');
  const aborted = once(signal, 'abort').then((): string[] => []);
  const addresses = 'address' in host ? [host.address] : await Promise.race([rules.resolve(host.name, signal), aborted]);
  if (addresses.length === 0) return failed('unresolved');
  // If a host has both public and other addresses, this is an attack or a mistake, so none of them is contacted.
  if (!addresses.every((address) => rules.allowsAddress(address))) return failed('refused');
  const answer = await requestOnce(url, addresses, { ...options, signal });
  if (answer.kind === 'fault') return failed(answer.reason);
  if (answer.kind === 'body') return { ok: true, body: answer.body };
  const next = parseUrl(answer.location, url);
  return next !== null && allowsUrl(next, rules) ? { next } : failed('refused');
}
