import { systemClock, type Clock, type TimerOptions } from '../clock/clock.ts';
import { whenAborted, type Abortable } from './when-aborted.ts';

/** Waits `ms`, or until the signal aborts. An abort does not reject; the caller checks the signal. */
export function pause(
  ms: number,
  signal: Abortable,
  { clock = systemClock, ...options }: TimerOptions & { readonly clock?: Clock } = {},
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      forget();
      resolve();
    };
    let forget = (): void => undefined;
    const cancel = clock.after(ms, end, options);
    forget = whenAborted(signal, end);
  });
}
