import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError } from '../../store-unavailable.ts';

/** How long a call waits for locks of other processes before it rejects. */
const busyTimeoutMs = 10_000;
/** Upper bounds of the first and of every later pause between attempts. */
const firstPauseMs = 1;
const longestPauseMs = 64;

/** Repeats `work` while another process holds the lock that it needs. An attempt that finds the file busy has changed nothing. */
export async function whileBusy<T>(work: () => T): Promise<T> {
  const deadlineMs = performance.now() + busyTimeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > deadlineMs) throw new StoreUnavailableError(error);
    }
    // Random, so that waiting processes do not all try again at the same moment.
    await delay(1 + Math.random() * pauseMs);
  }
}

/** Includes the extended codes, for example `SQLITE_BUSY_SNAPSHOT`. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}
