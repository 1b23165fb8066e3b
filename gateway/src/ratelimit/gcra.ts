import type { LimitDecision, Quota } from './limiter.ts';

/**
 * The generic cell rate algorithm in whole microseconds. The state of a key is one point in time, at which its requests will have drained
 * (the theoretical arrival time). Each request moves it forward by `intervalUs`, and it may be at most `burst` intervals ahead of now. So any
 * window admits at most burst + rate × time.
 */
export interface Gcra {
  /** Time in which one request drains, rounded up. The error is at most one percent at the highest rate of a plan. */
  readonly intervalUs: number;
  readonly burst: number;
}

/** An invalid rate or burst, or one below the minimum, is replaced by the minimum. */
export function gcraOf({ perMinute, burst }: Quota): Gcra {
  return { intervalUs: Math.ceil(60e6 / Math.max(perMinute, 1e-3)), burst: Math.max(1, Math.floor(burst)) };
}

/** The result of a take. The debt is the time until all taken requests have drained. */
export interface Taken {
  readonly admitted: boolean;
  readonly debtUs: number;
  /** Time until the same take would be admitted; 0 if it was admitted. */
  readonly waitUs: number;
}

/**
 * Takes `cost` requests from a key with the debt `debtUs`. A debt above the whole burst (after the quota was lowered, or a clock went back)
 * counts as the whole burst, and so does a cost above it. Otherwise no wait would be long enough.
 */
export function takeFrom(debtUs: number, { intervalUs, burst }: Gcra, cost: number): Taken {
  const roomUs = burst * intervalUs;
  const owedUs = Math.min(Math.max(debtUs, 0), roomUs);
  const nextUs = owedUs + Math.min(cost, burst) * intervalUs;
  if (nextUs <= roomUs) return { admitted: true, debtUs: nextUs, waitUs: 0 };
  return { admitted: false, debtUs: owedUs, waitUs: nextUs - roomUs };
}

/** Milliseconds are rounded up: a client that waits for the reported time is not refused. */
export function decisionOf(
  { admitted, debtUs, waitUs }: Taken,
  { intervalUs, burst }: Gcra,
  counted: LimitDecision['counted'],
): LimitDecision {
  return {
    admitted,
    remaining: Math.max(0, Math.floor((burst * intervalUs - debtUs) / intervalUs)),
    resetMs: Math.ceil(debtUs / 1000),
    retryAfterMs: Math.ceil(waitUs / 1000),
    counted,
  };
}
