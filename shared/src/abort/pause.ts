import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits `ms`, or until the signal aborts. An abort does not reject; the caller checks the signal. With `ref` false, the wait does not keep
 * the process alive.
 */
export async function pause(ms: number, signal: AbortSignal, { ref = true }: { readonly ref?: boolean } = {}): Promise<void> {
  try {
    await delay(ms, undefined, { signal, ref });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
