import type { Principal } from '../auth/principal.ts';
import type { LimitDecision, RateLimiter } from './limiter.ts';

/** Takes `cost` requests from what a key may ask for; 0 only looks. */
export function takeOfKey(limiter: RateLimiter, { keyId, plan }: Principal, cost: number): LimitDecision | Promise<LimitDecision> {
  return limiter.take(`key:${keyId}`, { perMinute: plan.requestsPerMinute, burst: plan.burst }, cost);
}
