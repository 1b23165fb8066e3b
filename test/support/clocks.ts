import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';

/** Real time, `factor` times faster: where a part waits for real sockets beside its own bounds. */
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

interface Timer {
  dueMs: number;
  readonly everyMs: number | null;
  readonly run: () => void;
}

/** Time that moves only when the test says so. */
export class StoppedClock implements Clock {
  readonly #startMs = Date.now();
  readonly #timers = new Set<Timer>();
  #passedMs = 0;

  wallMs(): number {
    return Math.floor(this.#startMs + this.#passedMs);
  }

  steadyMs(): number {
    return this.#passedMs;
  }

  after(ms: number, run: () => void): () => void {
    return this.#add({ dueMs: this.#passedMs + ms, everyMs: null, run });
  }

  every(ms: number, run: () => void): () => void {
    return this.#add({ dueMs: this.#passedMs + ms, everyMs: ms, run });
  }

  /** Runs the timers that are due within `ms`, in the order of their times, and lets promises continue after each. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#passedMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ dueMs }) => dueMs <= endMs).toSorted((a, b) => a.dueMs - b.dueMs)[0];
      if (due === undefined) break;
      this.#passedMs = due.dueMs;
      if (due.everyMs === null) this.#timers.delete(due);
      else due.dueMs += due.everyMs;
      due.run();
      await new Promise(setImmediate);
    }
    this.#passedMs = endMs;
  }

  #add(timer: Timer): () => void {
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
}
