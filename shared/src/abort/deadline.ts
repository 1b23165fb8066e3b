import { whenAborted } from './when-aborted.ts';

/** The signal of one piece of work. */
export interface Deadline {
  /** Fires when the time has run out, with any of the sources, or at `cut`. */
  readonly signal: AbortSignal;
  /** Whether it fired because the time had run out. */
  readonly passed: boolean;
  /** Ends the work early. */
  cut(): void;
  /** The work is over; the sources forget it. */
  end(): void;
}

/**
 * `AbortSignal.any` and `AbortSignal.timeout` together, which on Node 20 must not be put together: what `any` makes does not hold its
 * timeout, so that a collection of garbage takes it away before it fires, and then it, with all that listens, is kept for good. A
 * source that lives long keeps something of every signal that was made of it besides, and making one costs a hundred microseconds.
 */
export function startDeadline(ms: number, ...sources: readonly (AbortSignal | undefined)[]): Deadline {
  const controller = new AbortController();
  let passed = false;
  const cut = (): void => controller.abort();
  const timer = setTimeout(() => {
    passed = true;
    cut();
  }, ms);
  timer.unref();
  const forget = sources.map((source) => (source === undefined ? null : whenAborted(source, cut)));
  return {
    signal: controller.signal,
    get passed() {
      return passed;
    },
    cut,
    end() {
      clearTimeout(timer);
      for (const one of forget) one?.();
    },
  };
}
