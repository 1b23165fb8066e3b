import { setTimeout as delay } from 'node:timers/promises';

type Maybe<T> = T | undefined | false;

/** Checks cost processor time, so the pauses between them grow up to this. */
const longestPauseMs = 20;

/** Waits until `check` returns something other than undefined or false. After `timeoutMs` it fails and names what it waited for. */
export async function until<T>(what: string, check: () => Maybe<T> | Promise<Maybe<T>>, timeoutMs = 60_000): Promise<T> {
  const endMs = performance.now() + timeoutMs;
  let pauseMs = 2;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > endMs) throw new Error(`timed out waiting for ${what}`);
    await delay(pauseMs);
    pauseMs = Math.min(longestPauseMs, pauseMs * 1.1);
  }
}
