import { LruCache } from './lru.ts';
import type { FetchFault } from '../guarded-http/fetch-fault.ts';

interface Failure {
  readonly ok: false;
  readonly reason: FetchFault;
}

/** How long a result is cached. Results rarely change. */
const cachedMs = 30 * 60_000;
/** How long a failure is cached. The files of a new token often appear after the token. */
const failureCachedMs = 30_000;
/** Memory of an entry in addition to its content. */
const entryBytes = 400;

export interface FetchCacheOptions<O extends { readonly ok: true }> {
  /** Never rejects. */
  readonly fetch: (address: string) => Promise<O | Failure>;
  /** Memory of an outcome's content, in bytes. */
  readonly bytesOf: (outcome: O) => number;
  /** Maximum number of bytes in all. Above it, the least recently used entry is dropped. */
  readonly maxBytes: number;
  /** Maximum number of addresses that are being fetched or wait to be fetched. Further requests return `busy`. */
  readonly maxUnderWay: number;
}

/** A cache by address. Concurrent requests for one address share one fetch. Results are cached for a while, failures briefly. */
export class FetchCache<O extends { readonly ok: true }> {
  readonly #options: FetchCacheOptions<O>;
  readonly #cache: LruCache<O | Failure>;
  readonly #underWay = new Map<string, Promise<O | Failure>>();

  constructor(options: FetchCacheOptions<O>) {
    this.#options = options;
    this.#cache = new LruCache(options.maxBytes);
  }

  /** The cached outcome; undefined if there is none. */
  known(address: string): O | Failure | undefined {
    return this.#cache.get(address, performance.now());
  }

  /** The outcome; fetched if it is not cached. Never rejects. */
  load(address: string): Promise<O | Failure> {
    const known = this.known(address);
    if (known !== undefined) return Promise.resolve(known);
    const asked = this.#underWay.get(address);
    if (asked !== undefined) return asked;
    if (this.#underWay.size >= this.#options.maxUnderWay) return Promise.resolve({ ok: false, reason: 'busy' });
    const asking = this.#ask(address);
    this.#underWay.set(address, asking);
    return asking;
  }

  async #ask(address: string): Promise<O | Failure> {
    try {
      const outcome = await this.#options.fetch(address);
      this.#keep(address, outcome);
      return outcome;
    } finally {
      this.#underWay.delete(address);
    }
  }

  #keep(address: string, outcome: O | Failure): void {
    // A request that was refused because too many were in progress says nothing about the content.
    if (!outcome.ok && (outcome.reason === 'busy' || outcome.reason === 'closed')) return;
    const bytes = entryBytes + 2 * address.length + (outcome.ok ? this.#options.bytesOf(outcome) : 0);
    this.#cache.set(address, outcome, bytes, performance.now() + (outcome.ok ? cachedMs : failureCachedMs));
  }
}
