import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import type { Authenticator, Principal } from '../auth/principal.ts';
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

/** Who calls. `principal` is null for a stranger: no key, or none that is good; nothing is kept of those. */
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
}

export interface Callers {
  /** Authenticates and takes `cost` requests from the key's limit (0: only looks). At once, unless the limiter has to wait. */
  identify(request: HttpRequest, cost: 0 | 1): Caller | Promise<Caller>;
}

export function createCallers({ authenticator, limiter }: CallerOptions): Callers {
  const count = (principal: Principal, cost: 0 | 1, refusal: Refusal | null): Caller | Promise<Caller> => {
    const { requestsPerMinute, burst } = principal.plan;
    const taken = limiter.take(`key:${principal.keyId}`, { perMinute: requestsPerMinute, burst }, cost);
    return taken instanceof Promise
      ? taken.then((decision) => counted(principal, decision, cost, refusal))
      : counted(principal, taken, cost, refusal);
  };
  return {
    identify: (request, cost) => {
      const key = apiKeyOf(request);
      const principal = key === null ? null : authenticator.authenticate(key);
      if (principal === null) return stranger;
      return count(principal, cost, null);
    },
  };
}

function counted(principal: Principal, decision: LimitDecision, cost: 0 | 1, refusal: Refusal | null): Caller {
  if (refusal !== null || decision.admitted || cost === 0) return { principal, decision, refusal };
  const seconds = retryAfterSeconds(decision);
  const message = `This key has no request left; the next is admitted in ${seconds} s.`;
  return {
    principal,
    decision,
    refusal: {
      error: 'RATE_LIMIT',
      message,
      details: { limit: principal.plan.requestsPerMinute, retryAfterSeconds: seconds },
      retryAfterSeconds: seconds,
    },
  };
}
