import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import { addressAllowed } from '../auth/ip-ranges.ts';
import { parseApiKey } from '../auth/key-format.ts';
import type { Authenticator, Principal } from '../auth/principal.ts';
import type { KeyLimits } from '../ratelimit/key-limit.ts';
import type { LimitDecision } from '../ratelimit/limiter.ts';
import type { HttpRequest } from '../transport/transport.ts';
import { apiKeyOf } from './credentials.ts';
import { retryAfterSeconds } from './rate-headers.ts';

/** Why a caller with a valid key is refused. */
export interface Refusal {
  readonly error: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
}

/** The caller. `principal` is null for an unknown caller: one without a key or session, or with an invalid one. Nothing is stored about it. */
export interface Caller {
  readonly principal: Principal | null;
  /** What is left of the key's limit; null for an unknown caller. */
  readonly decision: LimitDecision | null;
  readonly refusal: Refusal | null;
}

const unknownCaller: Caller = { principal: null, decision: null, refusal: null };
const unavailableCaller: Caller = {
  ...unknownCaller,
  refusal: { error: 'UPSTREAM_UNAVAILABLE', message: 'Sessions cannot be looked up at present. Try again in a moment.', details: {} },
};

/** `unavailable`: sessions cannot be looked up. A null instead of a promise: the request does not claim to be of a session. */
export type FindSessionCaller = (request: HttpRequest) => Promise<Principal | 'unavailable' | null> | null;

export interface CallerOptions {
  readonly authenticator: Authenticator;
  readonly limits: KeyLimits;
  /** The address of the client, also behind trusted proxies. */
  readonly addressOf: (request: HttpRequest) => string;
  /** Finds the caller of a request of our own page, which has no key but a session. */
  readonly findSession?: FindSessionCaller;
}

/**
 * Authenticates the caller and takes `cost` requests from the key's limit (0: only reads it). Returns a promise only if the limiter must wait,
 * or if an unknown key is searched in the store, which happens if a key is `needed`.
 */
export type IdentifyCaller = (request: HttpRequest, cost: 0 | 1, needed: boolean) => Caller | Promise<Caller>;

export function createCallers({ authenticator, limits, addressOf, findSession }: CallerOptions): IdentifyCaller {
  const admit = (request: HttpRequest, principal: Principal, cost: 0 | 1): Caller | Promise<Caller> => {
    const refusal = principal.ipRanges.length === 0 ? null : addressRefusal(principal, addressOf(request));
    // A caller from a refused address cannot use up the limit of the key.
    const taken = limits.take(principal, refusal === null ? cost : 0);
    return taken instanceof Promise
      ? taken.then((decision) => callerOf(principal, decision, refusal))
      : callerOf(principal, taken, refusal);
  };
  const identifyLate = async (request: HttpRequest, key: string, cost: 0 | 1): Promise<Caller> => {
    // The key may have been created a moment ago.
    await authenticator.refresh();
    const principal = authenticator.authenticate(key);
    return principal === null ? unknownCaller : admit(request, principal, cost);
  };
  const identifySession = async (request: HttpRequest, found: Promise<Principal | 'unavailable' | null>, cost: 0 | 1): Promise<Caller> => {
    const principal = await found;
    if (principal === 'unavailable') return unavailableCaller;
    return principal === null ? unknownCaller : admit(request, principal, cost);
  };
  return (request, cost, needed) => {
    const key = apiKeyOf(request);
    if (key === null) {
      const found = needed ? (findSession?.(request) ?? null) : null;
      return found === null ? unknownCaller : identifySession(request, found, cost);
    }
    const principal = authenticator.authenticate(key);
    if (principal !== null) return admit(request, principal, cost);
    return !needed || parseApiKey(key) === null ? unknownCaller : identifyLate(request, key, cost);
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
    message: `This key has used up its requests. The next one is accepted in ${seconds} s.`,
    details: { limit: plan.requestsPerMinute, retryAfterMs: decision.retryAfterMs },
    retryAfterSeconds: seconds,
  };
}
