import { StoreAwayError } from '../store-away.ts';
import type { Database, Sql } from './database.ts';

/** Without an answer to anything for this long the store is away, milliseconds. */
const silentMs = 2_000;
/** A write that failed tells of the next ones for this long, milliseconds. */
const unwritableMs = 10_000;

/** How the store has done since it was opened. */
export interface StoreHealth {
  readonly calls: number;
  /** Calls that it did not answer. */
  readonly failures: number;
  /** What is wrong with it now; null where nothing is. */
  fault(): string | null;
}

class Meter implements StoreHealth {
  calls = 0;
  failures = 0;
  #open = 0;
  /** Since when something waits for an answer and nothing got one; null where nothing waits, and the last call was answered. */
  #waitingSinceMs: number | null = null;
  #writeFailedAtMs = Number.NEGATIVE_INFINITY;

  fault(): string | null {
    const nowMs = performance.now();
    if (this.#waitingSinceMs !== null && nowMs - this.#waitingSinceMs > silentMs) return 'The store does not answer.';
    return nowMs - this.#writeFailedAtMs < unwritableMs ? 'The store takes nothing.' : null;
  }

  async watch<T>(isWrite: boolean, work: () => Promise<T>): Promise<T> {
    this.calls++;
    this.#open++;
    this.#waitingSinceMs ??= performance.now();
    try {
      const result = await work();
      this.#open--;
      this.#waitingSinceMs = this.#open > 0 ? performance.now() : null;
      if (isWrite) this.#writeFailedAtMs = Number.NEGATIVE_INFINITY;
      return result;
    } catch (error) {
      this.#open--;
      if (error instanceof StoreAwayError) {
        this.failures++;
        if (isWrite) this.#writeFailedAtMs = performance.now();
      } else this.#waitingSinceMs = this.#open > 0 ? performance.now() : null;
      throw error;
    }
  }
}

/** The same database, and how it does. */
export function metered(db: Database): { readonly db: Database; readonly health: StoreHealth } {
  const meter = new Meter();
  const sql: Sql = {
    get: (text, ...values) => meter.watch(false, () => db.get(text, ...values)),
    all: (text, ...values) => meter.watch(false, () => db.all(text, ...values)),
    run: (text, ...values) => meter.watch(true, () => db.run(text, ...values)),
  };
  const transaction: Database['transaction'] = (area, work, key) => meter.watch(true, () => db.transaction(area, work, key));
  return { db: { ...sql, dialect: db.dialect, transaction, close: () => db.close() }, health: meter };
}
