import { setTimeout as delay } from 'node:timers/promises';
import { StoreAwayError } from '../store-away.ts';

/** How long a call waits for other processes before it rejects, milliseconds. */
const busyTimeoutMs = 10_000;
/** Pauses between the attempts, milliseconds: the first at most, and the longest. */
const firstPauseMs = 1;
const longestPauseMs = 64;

/** Tries again while another process holds the lock that `work` needs; what finds the file busy has done nothing. */
export async function whileBusy<T>(work: () => T): Promise<T> {
  const deadlineMs = performance.now() + busyTimeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > deadlineMs) throw new StoreAwayError(error);
    }
    // Not all at the same moment again.
    await delay(1 + Math.random() * pauseMs);
  }
}

/** `SQLITE_BUSY`, and its kinds for recovery and snapshots. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}
