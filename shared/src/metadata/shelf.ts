import { LruCache } from './lru.ts';
import type { FetchFault } from './outcome.ts';

interface Failure {
  readonly ok: false;
  readonly reason: FetchFault;
}

/** What was fetched hardly ever changes. */
const keptMs = 30 * 60_000;
/** What could not be had may be there soon: the files of a new token often come after it. */
const failureKeptMs = 30_000;
/** Memory of an entry beside what it holds. */
const entryBytes = 400;

export interface ShelfOptions<O extends { readonly ok: true }> {
  /** Never rejects. */
  readonly fetch: (address: string) => Promise<O | Failure>;
  /** Memory of what an outcome holds, bytes. */
  readonly bytesOf: (outcome: O) => number;
  /** Beyond it what was longest unused goes. */
  readonly maxBytes: number;
  /** Addresses being fetched or waiting for it; one more is answered `busy`. */
  readonly maxUnderWay: number;
}

/** Things by address: each is fetched once for all who ask at the same time, and kept for a while, failures briefly. */
export class Shelf<O extends { readonly ok: true }> {
  readonly #options: ShelfOptions<O>;
  readonly #kept: LruCache<O | Failure>;
  readonly #underWay = new Map<string, Promise<O | Failure>>();

  constructor(options: ShelfOptions<O>) {
    this.#options = options;
    this.#kept = new LruCache(options.maxBytes);
  }

  /** What is known now; undefined where nothing is. */
  known(address: string): O | Failure | undefined {
    return this.#kept.get(address, performance.now());
  }

  /** Fetched where it is not known. Never rejects. */
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
    // What was sent away for want of room is no word about the thing.
    if (!outcome.ok && (outcome.reason === 'busy' || outcome.reason === 'closed')) return;
    const bytes = entryBytes + 2 * address.length + (outcome.ok ? this.#options.bytesOf(outcome) : 0);
    this.#kept.set(address, outcome, bytes, performance.now() + (outcome.ok ? keptMs : failureKeptMs));
  }
}
