/** Time as one part of the product sees it. Tests pass another one, so that they need not wait for real seconds. */
export interface Clock {
  /** Milliseconds since 1970, an integer. */
  wallMs(): number;
  /** Milliseconds since some start; it never runs backwards. */
  steadyMs(): number;
  /** Calls `run` once after `ms`. The function that it returns cancels the call. */
  after(ms: number, run: () => void, options?: TimerOptions): () => void;
  /** Calls `run` every `ms`. The function that it returns ends that. */
  every(ms: number, run: () => void, options?: TimerOptions): () => void;
}

export interface TimerOptions {
  /** False: the timer does not keep the process alive. */
  readonly ref?: boolean;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  steadyMs: () => performance.now(),
  after: (ms, run, { ref = true } = {}) => {
    const timer = setTimeout(run, ms);
    if (!ref) timer.unref();
    return () => clearTimeout(timer);
  },
  every: (ms, run, { ref = true } = {}) => {
    const timer = setInterval(run, ms);
    if (!ref) timer.unref();
    return () => clearInterval(timer);
  },
};
