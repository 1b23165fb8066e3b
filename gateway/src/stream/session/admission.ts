import type { Authenticator, Principal } from '../../auth/principal.ts';
import { addressAllowed } from '../../auth/ip-ranges.ts';
import { parseApiKey } from '../../auth/key-format.ts';
import type { Tickets } from '../../auth/tickets.ts';
import { takeOfKey } from '../../ratelimit/key-limit.ts';
import type { LimitDecision, RateLimiter } from '../../ratelimit/limiter.ts';
import { batchOutOfReach } from './plan-reach.ts';

/** What a client shows for itself. */
export type Credential = { readonly key: string } | { readonly ticket: string };

/** How it is connected. */
export interface Visit {
  readonly address: string;
  readonly batch: boolean;
}

/** Whether a client may have a stream. `decision` stands wherever a key was counted, refused or not. */
export type Admission =
  | { readonly ok: true; readonly principal: Principal; readonly decision: LimitDecision }
  | {
      readonly ok: false;
      readonly code: 'UNAUTHENTICATED' | 'FORBIDDEN' | 'RATE_LIMIT' | 'UPSTREAM_UNAVAILABLE';
      readonly message?: string;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly counted?: { readonly principal: Principal; readonly decision: LimitDecision };
    };

type Refusal = Pick<Extract<Admission, { ok: false }>, 'message' | 'details'>;

/** Judges a credential for the stream; never rejects. */
export type Admit = (credential: Credential, visit: Visit) => Promise<Admission>;

export interface AdmissionParts {
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly tickets: Tickets;
}

type Identified = { readonly principal: Principal; readonly addressRanges: readonly string[] } | Extract<Admission, { ok: false }>;

/** The same for the handshake and for a first message: who it is, from where, what the key and its plan reach, one request taken. */
export function createAdmission({ authenticator, limiter, tickets }: AdmissionParts): Admit {
  const identify = (credential: Credential): Promise<Identified> =>
    'key' in credential ? identifyKey(authenticator, credential.key) : identifyTicket(authenticator, tickets, credential.ticket);
  return async (credential, visit) => {
    const identified = await identify(credential);
    if (!('principal' in identified)) return identified;
    const { principal, addressRanges } = identified;
    const isElsewhere = !addressAllowed(addressRanges, visit.address);
    // Whoever has found a key elsewhere cannot use up what it has left.
    const decision = await takeOfKey(limiter, principal, isElsewhere ? 0 : 1);
    const counted = { principal, decision };
    const refusal = isElsewhere ? elsewhere(visit) : refusalOf(principal, visit);
    if (refusal !== null) return { ok: false, code: 'FORBIDDEN', ...refusal, counted };
    if (decision.admitted) return { ok: true, ...counted };
    const { retryAfterMs } = decision;
    const details = { limit: principal.plan.requestsPerMinute, retryAfterMs };
    return { ok: false, code: 'RATE_LIMIT', message: 'This key has no request left.', details, counted };
  };
}

async function identifyKey(authenticator: Authenticator, key: string): Promise<Identified> {
  let principal = authenticator.authenticate(key);
  if (principal === null && parseApiKey(key) !== null) {
    // Perhaps made a moment ago.
    await authenticator.refresh();
    principal = authenticator.authenticate(key);
  }
  return principal === null ? { ok: false, code: 'UNAUTHENTICATED' } : { principal, addressRanges: principal.ipRanges };
}

async function identifyTicket(authenticator: Authenticator, tickets: Tickets, ticket: string): Promise<Identified> {
  const taken = await tickets.take(ticket);
  if (taken === 'away') {
    return { ok: false, code: 'UPSTREAM_UNAVAILABLE', message: 'Tickets cannot be looked up at present; connect with the key, or again.' };
  }
  let principal = taken === null ? null : authenticator.principalOf(taken.credential);
  if (taken !== null && principal === null) {
    // Perhaps of a key that another gateway knows already.
    await authenticator.refresh();
    principal = authenticator.principalOf(taken.credential);
  }
  if (taken === null || principal === null) {
    return { ok: false, code: 'UNAUTHENTICATED', message: 'The ticket is unknown, was used, or is older than 30 s.' };
  }
  return { principal, addressRanges: taken.address === null ? principal.ipRanges : [taken.address] };
}

function elsewhere({ address }: Visit): Refusal {
  return { message: 'The key may not be used from this address.', details: { address } };
}

function refusalOf(principal: Principal, { batch }: Visit): Refusal | null {
  if (!principal.scopes.includes('stream')) return { message: 'The key has not the scope `stream`.', details: { scope: 'stream' } };
  return batch ? batchOutOfReach(principal.plan) : null;
}
