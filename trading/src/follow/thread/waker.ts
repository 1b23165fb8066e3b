import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { TransientMap } from '@sluice/shared/runtime/collections/transient-map.ts';

/** Lets loops sleep until there is work. */
export interface Waker {
  wake(): void;
  /** Resolves at the next `wake`, after `ms` (`Infinity`: never by time), or when the signal fires. */
  wait(ms: number): Promise<void>;
}

export function createWaker(signal: AbortSignal, clock: Clock): Waker {
  const waiting = new TransientMap<object, () => void>();
  const wake = (): void => {
    for (const one of waiting.values()) one();
  };
  signal.addEventListener('abort', wake, { once: true });
  return {
    wake,
    wait(ms) {
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
