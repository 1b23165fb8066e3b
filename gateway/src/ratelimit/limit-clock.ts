/** The clock of the limiter. */
export interface LimitClock {
  /** Microseconds since some moment; never decreases. */
  nowUs(): number;
  /** Calls `call` after `delayMs`, once answers that arrived by then were read. Returns a function that cancels it. */
  after(delayMs: number, call: () => void): () => void;
}

export const processClock: LimitClock = {
  nowUs: () => Math.floor(performance.now() * 1000),
  after: (delayMs, call) => {
    // After a long turn, the event loop runs its timers before it reads its sockets. Answers that arrived in time must count first.
    let immediate: NodeJS.Immediate | null = null;
    const timer = setTimeout(() => {
      immediate = setImmediate(call);
    }, delayMs);
    timer.unref();
    return () => {
      clearTimeout(timer);
      if (immediate !== null) clearImmediate(immediate);
    };
  },
};
