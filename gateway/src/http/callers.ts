import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import { addressAllowed } from '../auth/ip-ranges.ts';
import { parseApiKey } from '../auth/key-format.ts';
import type { Authenticator, Principal } from '../auth/principal.ts';
import { takeOfKey } from '../ratelimit/key-limit.ts';
import type { LimitDecision, RateLimiter } from '../ratelimit/limiter.ts';
import type { HttpRequest } from '../transport/transport.ts';
import { apiKeyOf } from './credentials.ts';
import { retryAfterSeconds } from './rate-headers.ts';

/** Why a key that is good is not let in. */
export interface Refusal {
  readonly error: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
}

/** Who calls. `principal` is null for a stranger: no key, or none that is good; nothing is stored of those. */
export interface Caller {
  readonly principal: Principal | null;
  /** What is left to the key; null for a stranger. */
  readonly decision: LimitDecision | null;
  readonly refusal: Refusal | null;
}

const stranger: Caller = { principal: null, decision: null, refusal: null };

export interface CallerOptions {
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  /** Who the client is, proxies apart. */
  readonly addressOf: (request: HttpRequest) => string;
}

/**
 * Authenticates and takes `cost` requests from the key's limit (0: only looks). At once, unless the limiter has to wait or,
 * where a key is `needed`, one that is not known yet is looked for in the store.
 */
export type IdentifyCaller = (request: HttpRequest, cost: 0 | 1, needed: boolean) => Caller | Promise<Caller>;

export function createCallers({ authenticator, limiter, addressOf }: CallerOptions): IdentifyCaller {
  const admit = (request: HttpRequest, principal: Principal, cost: 0 | 1): Caller | Promise<Caller> => {
    const refusal = principal.ipRanges.length === 0 ? null : addressRefusal(principal, addressOf(request));
    // A caller from a refused address cannot use up the limit of the key.
    const taken = takeOfKey(limiter, principal, refusal === null ? cost : 0);
    return taken instanceof Promise
      ? taken.then((decision) => callerOf(principal, decision, refusal))
      : callerOf(principal, taken, refusal);
  };
  const identifyLate = async (request: HttpRequest, key: string, cost: 0 | 1): Promise<Caller> => {
    // Perhaps made a moment ago.
    await authenticator.refresh();
    const principal = authenticator.authenticate(key);
    return principal === null ? stranger : admit(request, principal, cost);
  };
  return (request, cost, needed) => {
    const key = apiKeyOf(request);
    if (key === null) return stranger;
    const principal = authenticator.authenticate(key);
    if (principal !== null) return admit(request, principal, cost);
    return !needed || parseApiKey(key) === null ? stranger : identifyLate(request, key, cost);
  };
}

function addressRefusal({ ipRanges }: Principal, address: string): Refusal | null {
  if (addressAllowed(ipRanges, address)) return null;
  return { error: 'FORBIDDEN', message: 'The key may not be used from this address.', details: { address } };
}

function callerOf(principal: Principal, decision: LimitDecision, refusal: Refusal | null): Caller {
  return { principal, decision, refusal: refusal === null && !decision.admitted ? rateRefusal(principal, decision) : refusal };
}

function rateRefusal({ plan }: Principal, decision: LimitDecision): Refusal {
  const seconds = retryAfterSeconds(decision);
  return {
    error: 'RATE_LIMIT',
    message: `This key has no request left; the next is admitted in ${seconds} s.`,
    details: { limit: plan.requestsPerMinute, retryAfterMs: decision.retryAfterMs },
    retryAfterSeconds: seconds,
  };
}
