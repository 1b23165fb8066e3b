import { setTimeout as delay } from 'node:timers/promises';

/** Waits `ms`, or until the signal aborts: that is no error here, the caller looks why it waited no longer. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
