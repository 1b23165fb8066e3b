import { StoreUnavailableError } from '../store-unavailable.ts';
import { sqlOf, type Database } from './database.ts';

/** The store is treated as unavailable if it has answered no call for this long. */
const silentMs = 2_000;
/** After a failed write, the store is treated as not writable for this long. */
const unwritableMs = 10_000;

/** Counts of calls since the store was opened, and its current state. */
export interface StoreHealth {
  readonly calls: number;
  /** Calls that it did not answer. */
  readonly failures: number;
  /** What is wrong with the store now. Null: nothing. */
  fault(): string | null;
}

class Meter implements StoreHealth {
  calls = 0;
  failures = 0;
  #open = 0;
  /** Since when calls have been waiting without any answer. Null: no call waits, and the last one was answered. */
  #waitingSinceMs: number | null = null;
  #writeFailedAtMs = Number.NEGATIVE_INFINITY;

  fault(): string | null {
    const nowMs = performance.now();
    if (this.#waitingSinceMs !== null && nowMs - this.#waitingSinceMs > silentMs) return 'The store does not answer.';
    return nowMs - this.#writeFailedAtMs < unwritableMs ? 'The store refuses writes.' : null;
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
      if (error instanceof StoreUnavailableError) {
        this.failures++;
        if (isWrite) this.#writeFailedAtMs = performance.now();
      } else this.#waitingSinceMs = this.#open > 0 ? performance.now() : null;
      throw error;
    }
  }
}

/** Wraps a database so that its calls are counted. */
export function metered(db: Database): { readonly db: Database; readonly health: StoreHealth } {
  const meter = new Meter();
  const sql = sqlOf(
    (text, values) => meter.watch(false, () => db.all(text, ...values)),
    (text, values) => meter.watch(true, () => db.run(text, ...values)),
  );
  const transaction: Database['transaction'] = (area, work, ...keys) => meter.watch(true, () => db.transaction(area, work, ...keys));
  return { db: { ...sql, dialect: db.dialect, transaction, close: () => db.close() }, health: meter };
}
