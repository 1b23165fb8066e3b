import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { setTimeout as Pause } from 'node:timers/promises';

/** Pauses of `node:timers/promises` end only when their signal fires, until the function that this returns is called. */
export function holdPauses(): () => void {
  return replacePause(() => () => undefined);
}

/** Fake timers leave `node:timers/promises` as it is. `begin` returns how to end a pause early. */
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
