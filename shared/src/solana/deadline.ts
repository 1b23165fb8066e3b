import { setMaxListeners } from 'node:events';

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
 * `AbortSignal.any` and `AbortSignal.timeout` together, for work of which there is much: on Node 20 a source that lives long keeps
 * something of every signal that was made of it, and making one costs a hundred microseconds.
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
  for (const source of sources) {
    if (source === undefined) continue;
    if (source.aborted) cut();
    // As many as there is work under way, which who begins it bounds: Node.js warns from the eleventh on.
    setMaxListeners(0, source);
    source.addEventListener('abort', cut);
  }
  return {
    signal: controller.signal,
    get passed() {
      return passed;
    },
    cut,
    end() {
      clearTimeout(timer);
      for (const source of sources) source?.removeEventListener('abort', cut);
    },
  };
}
