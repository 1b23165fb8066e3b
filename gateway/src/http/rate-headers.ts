import type { Plan } from '@sluice/shared/config/plans.ts';
import type { LimitDecision } from '../ratelimit/limiter.ts';

/** Names of the headers that tell a key its limit; pages of other origins may read them. */
export const rateHeaderNames = [
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
] as const;

const seconds = (ms: number): number => Math.ceil(ms / 1000);

/**
 * draft-ietf-httpapi-ratelimit-headers-11, and the older plain ones: `X-RateLimit-Reset` is a Unix time in seconds. The
 * window is a minute; `t` and the reset tell when the whole burst is there again.
 */
export function rateHeaders(plan: Plan, { remaining, resetMs }: LimitDecision, nowMs: number): Record<string, string> {
  return {
    'RateLimit-Policy': `"default";q=${plan.requestsPerMinute};w=60`,
    RateLimit: `"default";r=${remaining};t=${seconds(resetMs)}`,
    'X-RateLimit-Limit': String(plan.requestsPerMinute),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(seconds(nowMs + resetMs)),
  };
}

/** Whole seconds after which a request is admitted, at least one. */
export function retryAfterSeconds({ retryAfterMs }: LimitDecision): number {
  return Math.max(1, seconds(retryAfterMs));
}
