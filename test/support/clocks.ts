import { setImmediate as turn } from 'node:timers/promises';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';

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

/** A clock that is still until the test moves it. */
export interface ManualClock extends Clock {
  /** Lets time pass, and calls each timer at its time. What a timer begins goes on for a turn of the event loop before time continues. */
  pass(ms: number): Promise<void>;
  /** As for a process that the system suspended: time passes at once, and overdue timers are called once, by the next `pass`. */
  suspend(ms: number): void;
  /** Somebody sets the wall clock, ahead or back. No time passes. */
  jump(ms: number): void;
}

interface ManualTimer {
  atMs: number;
  readonly everyMs: number | null;
  readonly run: () => void;
}

export function manualClock(): ManualClock {
  let startMs = Date.now();
  const timers = new Set<ManualTimer>();
  let nowMs = 0;
  const add = (ms: number, everyMs: number | null, run: () => void): (() => void) => {
    const timer = { atMs: nowMs + ms, everyMs, run };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const nextUntil = (endMs: number): ManualTimer | undefined =>
    [...timers].filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)[0];
  return {
    wallMs: () => startMs + Math.floor(nowMs),
    steadyMs: () => nowMs,
    after: (ms, run) => add(ms, null, run),
    every: (ms, run) => add(ms, ms, run),
    suspend: (ms) => void (nowMs += ms),
    jump: (ms) => void (startMs += ms),
    pass: async (ms) => {
      const endMs = nowMs + ms;
      for (let next = nextUntil(endMs); next !== undefined; next = nextUntil(endMs)) {
        nowMs = Math.max(nowMs, next.atMs);
        if (next.everyMs === null) timers.delete(next);
        else next.atMs = nowMs + next.everyMs;
        next.run();
        await turn();
      }
      nowMs = endMs;
    },
  };
}
