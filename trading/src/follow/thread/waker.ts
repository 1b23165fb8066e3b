import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { TransientMap } from '@sluice/shared/runtime/collections/transient-map.ts';

export type Waker = ReturnType<typeof createWaker>;

/** Lets loops sleep until there is work. */
export function createWaker(signal: AbortSignal, clock: Clock) {
  const waiting = new TransientMap<object, () => void>();
  const wake = (): void => {
    for (const one of waiting.values()) one();
  };
  signal.addEventListener('abort', wake, { once: true });
  return {
    wake,
    /** Resolves at the next `wake`, after `ms` (`Infinity`: never by time), or when the signal fires. */
    wait(ms: number): Promise<void> {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const name = {};
        const cancel = ms === Infinity ? null : clock.after(ms, () => end());
        const end = (): void => {
          cancel?.();
          waiting.delete(name);
          resolve();
        };
        waiting.set(name, end);
      });
    },
  };
}
