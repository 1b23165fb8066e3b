import { createRequire, syncBuiltinESMExports } from 'node:module';
import { setImmediate as turn, type setTimeout as Pause } from 'node:timers/promises';
import { vi } from 'vitest';

/** A call over two sockets of the loopback takes ten to thirty turns: some milliseconds, as in a data center. */
const turnsPerMs = 8;

/**
 * Virtual time for tests whose parts all run in this process and use real sockets. It advances by one millisecond for every few turns of
 * the event loop, so on a slow machine a test takes longer but sees the same times. Returns the function that restores real time.
 */
export function startVirtualTime(): () => void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] });
  const bringBack = replacePause((ms, resolve) => {
    const timer = setTimeout(resolve, ms);
    return () => clearTimeout(timer);
  });
  const life = new AbortController();
  const pass = async (): Promise<void> => {
    while (!life.signal.aborted) {
      for (let turns = 0; turns < turnsPerMs; turns++) await turn();
      if (!life.signal.aborted) vi.advanceTimersByTime(1);
    }
  };
  void pass();
  return () => {
    life.abort();
    bringBack();
    vi.useRealTimers();
  };
}

/** Makes pauses of `node:timers/promises` end only when their signal fires, until the returned function is called. */
export function holdPauses(): () => void {
  return replacePause(() => () => undefined);
}

/** Fake timers do not affect `node:timers/promises`. `begin` returns a function that ends a pause early. */
function replacePause(begin: (ms: number | undefined, resolve: () => void) => () => void): () => void {
  const timers = createRequire(import.meta.url)('node:timers/promises') as { setTimeout: typeof Pause };
  const real = timers.setTimeout;
  timers.setTimeout = (ms, value, { signal } = {}) =>
    new Promise((resolve, reject) => {
      const cancel = begin(ms, () => {
        signal?.removeEventListener('abort', fail);
        resolve(value as never);
      });
      function fail(): void {
        cancel();
        reject(new DOMException('The operation was aborted.', 'AbortError'));
      }
      if (signal?.aborted === true) fail();
      else signal?.addEventListener('abort', fail, { once: true });
    });
  syncBuiltinESMExports();
  return () => {
    timers.setTimeout = real;
    syncBuiltinESMExports();
  };
}
