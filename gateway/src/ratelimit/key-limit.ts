import type { Principal } from '../auth/principal.ts';
import type { LimitDecision, RateLimiter } from './limiter.ts';

/** Takes `cost` requests from the limit of a key; 0 only reads it. */
export function takeFromKey(limiter: RateLimiter, { keyId, plan }: Principal, cost: number): LimitDecision | Promise<LimitDecision> {
  return limiter.take(`key:${keyId}`, { perMinute: plan.requestsPerMinute, burst: plan.burst }, cost);
}
