import type { Plan } from '@sluice/shared/config/plans.ts';
import type { LimitDecision } from '../../ratelimit/limiter.ts';
import { headersIn } from '../../transport/transport.ts';
import { linesOf } from '../answers.ts';

/** Names of the headers with the limit of a key. Pages of other origins may read them. */
export const rateHeaderNames = [
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
] as const;

const seconds = (ms: number): number => Math.ceil(ms / 1000);

/** The header line that depends on the rate only, by rate. There are few plans, but a key may have its own rate. */
const policyLines = new Map<number, string>();
const maxPolicyLines = 10_000;

function policyLinesOf(perMinute: number): string {
  const known = policyLines.get(perMinute);
  if (known !== undefined) return known;
  if (policyLines.size >= maxPolicyLines) policyLines.clear();
  const made = linesOf({ 'RateLimit-Policy': `"default";q=${perMinute};w=60`, 'X-RateLimit-Limit': String(perMinute) });
  policyLines.set(perMinute, made);
  return made;
}

/**
 * What is left of a key's limit, as header lines: draft-ietf-httpapi-ratelimit-headers-11, and the older headers, in which
 * `X-RateLimit-Reset` is a Unix time in seconds. The window is a minute; `t` and the reset are the time when the whole burst is available.
 */
export function rateLines({ requestsPerMinute }: Plan, { remaining, resetMs }: LimitDecision, nowMs: number): string {
  return `${policyLinesOf(requestsPerMinute)}\r\nRateLimit: "default";r=${remaining};t=${seconds(resetMs)}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${seconds(nowMs + resetMs)}`;
}

/** The same as a map of headers, for answers without lines: handshakes. */
export function rateHeaders(plan: Plan, decision: LimitDecision, nowMs: number): Record<string, string> {
  return Object.fromEntries(headersIn(rateLines(plan, decision, nowMs)));
}

/** Whole seconds until a request is accepted, at least one. */
export function retryAfterSeconds({ retryAfterMs }: LimitDecision): number {
  return Math.max(1, seconds(retryAfterMs));
}
