import type { LimitDecision, Quota } from './limiter.ts';

/**
 * The generic cell rate algorithm in whole microseconds. All that is known of a key is one point in time, at which all that
 * it took will have drained (the theoretical arrival time); taking moves it on by `intervalUs` a request, and it may lie at
 * most `burst` intervals ahead. So any window admits at most burst + rate × time.
 */
export interface Gcra {
  /** Time that one request takes to drain, rounded up: at most a hundredth more at the highest rate of a plan. */
  readonly intervalUs: number;
  readonly burst: number;
}

/** A number that is no rate, or less than one request at once, counts as the least there is. */
export function gcraOf({ perMinute, burst }: Quota): Gcra {
  return { intervalUs: Math.ceil(60e6 / Math.max(perMinute, 1e-3)), burst: Math.max(1, Math.floor(burst)) };
}

/** What a take came to. Debt is the time until all that was taken has drained. */
export interface Taken {
  readonly admitted: boolean;
  readonly debtUs: number;
  /** Time until the same take would be admitted; 0 where it was. */
  readonly waitUs: number;
}

/**
 * Takes `cost` requests from a key that owes `debtUs`. A debt beyond the whole burst (the quota was lowered, a clock went
 * back) counts as the whole burst, and so does a cost beyond it: otherwise no wait would ever be long enough.
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
