import { addressAllowed } from '../../auth/ip-ranges.ts';
import { parseApiKey } from '../../auth/key-format.ts';
import type { Authenticator, Principal } from '../../auth/principal.ts';
import type { KeyLimits } from '../../ratelimit/key-limit.ts';
import type { LimitDecision, Quota } from '../../ratelimit/limiter.ts';
import type { HttpRequest } from '../../transport/transport.ts';
import type { Refusal } from '../answers.ts';
import { apiKeyOf } from './credentials.ts';
import { retryAfterSeconds } from '../headers/rate-headers.ts';

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

export interface RequestCost {
  /** Requests that are taken from the limit of the key; 0: the limit is only read. */
  readonly cost: 0 | 1;
  /** Requests of our own page are taken from this limit instead. */
  readonly pageQuota?: Quota | undefined;
}

/**
 * Authenticates the caller and takes the cost from its limit. Returns a promise only if the limiter must wait, or if an unknown key is searched
 * in the store, which happens if a key is `needed`.
 */
export type IdentifyCaller = (request: HttpRequest, cost: RequestCost, needed: boolean) => Caller | Promise<Caller>;

export function createCallers({ authenticator, limits, addressOf, findSession }: CallerOptions): IdentifyCaller {
  const admit = (request: HttpRequest, principal: Principal, { cost }: RequestCost): Caller | Promise<Caller> => {
    const { ipRanges } = principal;
    const refusal = ipRanges.length === 0 || addressAllowed(ipRanges, addressOf(request)) ? null : wrongAddress(addressOf(request));
    // A caller from a refused address cannot use up the limit of the key.
    const taken = limits.take(principal, refusal === null ? cost : 0);
    return taken instanceof Promise
      ? taken.then((decision) => callerOf(principal, decision, refusal))
      : callerOf(principal, taken, refusal);
  };
  const identifyLate = async (request: HttpRequest, key: string, cost: RequestCost): Promise<Caller> => {
    // The key may have been created a moment ago.
    await authenticator.refresh();
    const principal = authenticator.authenticate(key);
    return principal === null ? unknownCaller : admit(request, principal, cost);
  };
  const identifySession = async (
    request: HttpRequest,
    found: Promise<Principal | 'unavailable' | null>,
    cost: RequestCost,
  ): Promise<Caller> => {
    const principal = await found;
    if (principal === 'unavailable') return unavailableCaller;
    if (principal === null) return unknownCaller;
    const { pageQuota } = cost;
    if (pageQuota === undefined) return admit(request, principal, cost);
    const caller = await admit(request, principal, { cost: 0 });
    const ofPage = caller.refusal === null ? await limits.takeForPage(principal, pageQuota) : null;
    return ofPage === null || ofPage.admitted ? caller : { ...caller, refusal: rateRefusal(pageQuota.perMinute, ofPage) };
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

/** Takes further requests from the limit of a caller, whose request counts as several. Returns a promise only if the limiter must wait. */
export type CountMore = (caller: Caller, requests: number) => Caller | Promise<Caller>;

export function createCountMore({ limits }: Pick<CallerOptions, 'limits'>): CountMore {
  return (caller, requests) => {
    const { principal } = caller;
    if (principal === null) return caller;
    const taken = limits.take(principal, requests);
    return taken instanceof Promise ? taken.then((decision) => callerOf(principal, decision, null)) : callerOf(principal, taken, null);
  };
}

function wrongAddress(address: string): Refusal {
  return { error: 'FORBIDDEN', message: 'The key may not be used from this address.', details: { address } };
}

function callerOf(principal: Principal, decision: LimitDecision, refusal: Refusal | null): Caller {
  return {
    principal,
    decision,
    refusal: refusal === null && !decision.admitted ? rateRefusal(principal.plan.requestsPerMinute, decision) : refusal,
  };
}

function rateRefusal(limit: number, decision: LimitDecision): Refusal {
  const seconds = retryAfterSeconds(decision);
  return {
    error: 'RATE_LIMIT',
    message: `This key has used up its requests. The next one is accepted in ${seconds} s.`,
    details: { limit, retryAfterMs: decision.retryAfterMs },
    retryAfterSeconds: seconds,
  };
}
