/** GCRA: `burst` requests at once, and `perMinute` more for each minute, evenly. */
export interface Quota {
  readonly perMinute: number;
  readonly burst: number;
}

export interface LimitDecision {
  readonly admitted: boolean;
  /** Requests that would be admitted now, after this one. */
  readonly remaining: number;
  /** Time until the whole burst is there again, milliseconds. */
  readonly resetMs: number;
  /** Where it was not admitted: time until it would be, milliseconds; otherwise 0. */
  readonly retryAfterMs: number;
  /** `shared`: over all gateways. `local`: Redis is away, and this gateway counts its own share. */
  readonly counted: 'shared' | 'local';
}

/** The limits of keys, over all gateways together where there is Redis. */
export interface RateLimiter {
  /** Takes `cost` requests (0: only looks). In process it answers at once; it never rejects. */
  take(key: string, quota: Quota, cost: number): LimitDecision | Promise<LimitDecision>;
  close(): void;
}

/** What a limiter counted since its start. */
export interface LimitCounters {
  readonly taken: number;
  readonly refused: number;
  /** Counted against a local share, looks included. */
  readonly local: number;
  /** Times that Redis stopped answering. */
  readonly outages: number;
  /** Admitted by Redis, and refused all the same: this gateway had admitted as much of the key as it may. */
  readonly overruled: number;
}

export interface CountingLimiter extends RateLimiter {
  readonly counters: LimitCounters;
  /** Redis does not answer. */
  readonly away: boolean;
}
