import { PassingMap } from '@sluice/shared/collections/passing-map.ts';

/** Lets loops sleep until there is something to do. */
export interface Waker {
  wake(): void;
  /** Resolves at the next `wake`, after `ms` (Infinity: not by time), or when the signal fires. */
  wait(ms: number): Promise<void>;
}

export function createWaker(signal: AbortSignal): Waker {
  const waiting = new PassingMap<object, () => void>();
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
        const timer = ms === Infinity ? null : setTimeout(() => end(), ms);
        const end = (): void => {
          if (timer !== null) clearTimeout(timer);
          waiting.delete(name);
          resolve();
        };
        waiting.set(name, end);
      });
    },
  };
}
