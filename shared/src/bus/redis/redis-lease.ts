import type { Logger } from '../../runtime/log/log.ts';
import { leaseTtlMs, type Lease } from '../bus.ts';
import { RedisFault } from '../bus-error.ts';
import { checkLeaseName } from '../entry-checks.ts';
import { pause } from '../../runtime/abort/pause.ts';
import type { RedisConnection } from './redis-connection.ts';
import { leaseScript, redisKeys, releaseScript } from './redis-scripts.ts';

/** A holder can try to renew its lease three times before it expires. */
const renewalsOfTtl = 3.75;
/** How often a claim that does not hold the lease requests it, and so how soon it gets a released one. */
const askEveryMs = 100;

/**
 * A lease as one key in Redis. Its value is the fence of the current term, and it expires unless it is renewed. The holder counts the
 * time from before its request, so it stops before Redis lets the lease expire.
 */
export class RedisLease implements Lease {
  readonly name: string;
  holder: Lease['holder'] = null;
  fence = 0;
  readonly #connection: RedisConnection;
  readonly #log: Logger;
  readonly #forget: () => void;
  readonly #ttlMs: number;
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #goodUntilMs = 0;
  #expiry: NodeJS.Timeout | null = null;
  #answered = true;
  /** Fence of a term that was given up and must not be renewed. */
  #relinquished = 0;

  constructor(connection: RedisConnection, name: string, log: Logger, forget: () => void, ttlMs = leaseTtlMs) {
    checkLeaseName(name);
    this.name = name;
    this.#connection = connection;
    this.#log = log;
    this.#forget = forget;
    this.#ttlMs = ttlMs;
    this.#running = this.#run();
  }

  get held(): boolean {
    return this.holder === 'self' && performance.now() < this.#goodUntilMs;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  relinquish(fence: number): void {
    if (fence !== this.fence || fence === this.#relinquished) return;
    this.#relinquished = fence;
    if (this.#expiry !== null) clearTimeout(this.#expiry);
    this.#report(null);
    void this.#release();
  }

  /** Waits no longer than the lease would last anyway. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#report(null);
    const lapsed = new AbortController();
    await Promise.race([this.#running.then(() => this.#release()), pause(this.#ttlMs, lapsed.signal)]);
    lapsed.abort();
    if (this.#expiry !== null) clearTimeout(this.#expiry);
    this.#forget();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#ask();
      await pause(this.holder === 'self' ? this.#ttlMs / renewalsOfTtl : askEveryMs, signal);
    }
  }

  async #ask(): Promise<void> {
    const askedAtMs = performance.now();
    const keys = [redisKeys.lease(this.name), redisKeys.fence(this.name)];
    const granted = await this.#answer(() =>
      this.#connection.run(leaseScript, keys, [this.fence === this.#relinquished ? 0 : this.fence, this.#ttlMs]),
    );
    if (granted === undefined) {
      // A holder remains the holder until its time is over. Whether another process holds the lease is unknown.
      if (this.holder === 'other') this.#report(null);
    } else if (granted === null) {
      this.#report('other');
    } else {
      this.#grant(Number((granted as Buffer).toString('latin1')), askedAtMs + this.#ttlMs);
    }
  }

  #grant(fence: number, goodUntilMs: number): void {
    // This was requested before the term was given up.
    if (fence === this.#relinquished) return;
    if (fence !== this.fence && this.holder === 'self') this.#report(null);
    this.fence = fence;
    this.#goodUntilMs = goodUntilMs;
    const leftMs = goodUntilMs - performance.now();
    if (this.#expiry !== null) clearTimeout(this.#expiry);
    // The answer took longer than the lease lasts, so it is requested again.
    if (leftMs <= 0) return this.#report(null);
    this.#expiry = setTimeout(() => this.#report(null), leftMs);
    this.#report('self');
  }

  async #release(): Promise<void> {
    if (this.fence > 0) await this.#answer(() => this.#connection.run(releaseScript, [redisKeys.lease(this.name)], [this.fence]));
  }

  /** The answer of Redis; undefined if there is none. */
  async #answer(ask: () => Promise<unknown>): Promise<unknown> {
    try {
      const answer = await ask();
      this.#answered = true;
      return answer;
    } catch (error) {
      if (!(error instanceof RedisFault)) throw error;
      if (this.#answered) this.#log.warn({ lease: this.name, reason: error.message }, 'bus_lease_no_answer');
      this.#answered = false;
      return undefined;
    }
  }

  #report(holder: Lease['holder']): void {
    // A lease that is granted during `close` is released by it.
    if (this.holder === holder || (this.#closing.signal.aborted && holder !== null)) return;
    this.holder = holder;
    for (const listener of this.#listeners) listener();
  }
}
