import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';

/** Real time, `factor` times faster, for parts that have real sockets and time limits of their own. */
export function fastClock(factor: number): Clock {
  const wallStartMs = Date.now();
  const steadyStartMs = performance.now();
  const passedMs = (): number => (performance.now() - steadyStartMs) * factor;
  return {
    wallMs: () => Math.floor(wallStartMs + passedMs()),
    steadyMs: () => steadyStartMs + passedMs(),
    after: (ms, run, options) => systemClock.after(ms / factor, run, options),
    every: (ms, run, options) => systemClock.every(ms / factor, run, options),
  };
}
