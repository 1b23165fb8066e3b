/** Time as the limiter sees it. */
export interface LimitClock {
  /** Microseconds from some point on; never goes back. */
  nowUs(): number;
  /** Calls back after `delayMs`, and after answers that have arrived by then were read; returns how to stop it. */
  after(delayMs: number, call: () => void): () => void;
}

export const processClock: LimitClock = {
  nowUs: () => Math.floor(performance.now() * 1000),
  after: (delayMs, call) => {
    // A loop that was busy for long runs its timers first, then reads its sockets: who was slow is known after that.
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
