/** A limit: `burst` requests at once, and then `perMinute`, evenly distributed (GCRA). */
export interface Quota {
  readonly perMinute: number;
  readonly burst: number;
}

export interface LimitDecision {
  readonly admitted: boolean;
  /** Requests that would be accepted now, after this one. */
  readonly remaining: number;
  /** Time until the whole burst is available again. */
  readonly resetMs: number;
  /** Time until the refused request would be accepted, milliseconds; 0 if it was accepted. */
  readonly retryAfterMs: number;
  /** `shared`: counted on all gateways together. `local`: Redis does not answer, and this gateway counts against its own share. */
  readonly counted: 'shared' | 'local';
}

/** Counters of a limiter since its start. */
export interface LimitCounters {
  readonly taken: number;
  readonly refused: number;
  /** Takes that were counted against the local share, including reads. */
  readonly local: number;
  /** Times that Redis stopped answering. */
  readonly outages: number;
  /** Requests that Redis admitted but this gateway refused, because it had admitted as many requests of the key as is possible. */
  readonly overruled: number;
}

/** The limits of keys. With Redis, all gateways count together. */
export interface CountingLimiter {
  readonly counters: LimitCounters;
  /** Redis does not answer. */
  readonly unavailable: boolean;
  /** Takes `cost` requests (0: only reads the limit). Without Redis, it returns no promise. Never rejects. */
  take(key: string, quota: Quota, cost: number): LimitDecision | Promise<LimitDecision>;
  close(): void;
}

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
