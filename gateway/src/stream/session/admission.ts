import type { Authenticator, Principal } from '../../auth/principal.ts';
import { addressAllowed } from '../../auth/ip-ranges.ts';
import { parseApiKey } from '../../auth/key-format.ts';
import type { Tickets } from '../../auth/tickets.ts';
import type { KeyLimits } from '../../ratelimit/key-limit.ts';
import type { LimitDecision } from '../../ratelimit/limiter.ts';
import { missingBatch } from '../../auth/plan-features.ts';

/** What a client authenticates with. */
export type Credential = { readonly key: string } | { readonly ticket: string };

/** How a client connects. */
export interface ConnectionForm {
  readonly address: string;
  readonly batch: boolean;
}

/** Whether a client may use the stream. `decision` is present if the request counted for a key, admitted or not. */
export type Admission =
  | { readonly ok: true; readonly principal: Principal; readonly decision: LimitDecision }
  | {
      readonly ok: false;
      readonly code: 'UNAUTHENTICATED' | 'FORBIDDEN' | 'RATE_LIMIT' | 'UPSTREAM_UNAVAILABLE';
      readonly message?: string;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly counted?: { readonly principal: Principal; readonly decision: LimitDecision };
    };

type RefusalText = Pick<Extract<Admission, { ok: false }>, 'message' | 'details'>;

/** Checks a credential for the stream. Never rejects. */
export type Admit = (credential: Credential, form: ConnectionForm) => Promise<Admission>;

export interface AdmissionParts {
  readonly authenticator: Authenticator;
  readonly limits: KeyLimits;
  readonly tickets: Tickets;
}

type Identified = { readonly principal: Principal; readonly addressRanges: readonly string[] } | Extract<Admission, { ok: false }>;

/** The check for the handshake and for `auth`: key or ticket, address, scope and plan. It counts as one request of the key. */
export function createAdmission({ authenticator, limits, tickets }: AdmissionParts): Admit {
  const identify = (credential: Credential): Promise<Identified> =>
    'key' in credential ? identifyKey(authenticator, credential.key) : identifyTicket(authenticator, tickets, credential.ticket);
  return async (credential, form) => {
    const identified = await identify(credential);
    if (!('principal' in identified)) return identified;
    const { principal, addressRanges } = identified;
    const isAllowed = addressAllowed(addressRanges, form.address);
    // A stolen key cannot use up the limit of its owner.
    const decision = await limits.take(principal, isAllowed ? 1 : 0);
    const counted = { principal, decision };
    const { address } = form;
    const wrongAddress = { message: 'The key may not be used from this address.', details: { address } };
    const refusal = isAllowed ? refusalOf(principal, form) : wrongAddress;
    if (refusal !== null) return { ok: false, code: 'FORBIDDEN', ...refusal, counted };
    if (decision.admitted) return { ok: true, ...counted };
    const { retryAfterMs } = decision;
    const details = { limit: principal.plan.requestsPerMinute, retryAfterMs };
    return { ok: false, code: 'RATE_LIMIT', message: 'This key has used up its requests.', details, counted };
  };
}

async function identifyKey(authenticator: Authenticator, key: string): Promise<Identified> {
  let principal = authenticator.authenticate(key);
  if (principal === null && parseApiKey(key) !== null) {
    // The key may have been created a moment ago.
    await authenticator.refresh();
    principal = authenticator.authenticate(key);
  }
  return principal === null ? { ok: false, code: 'UNAUTHENTICATED' } : { principal, addressRanges: principal.ipRanges };
}

async function identifyTicket(authenticator: Authenticator, tickets: Tickets, ticket: string): Promise<Identified> {
  const redeemed = await tickets.take(ticket);
  if (redeemed === 'unavailable') {
    return {
      ok: false,
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Tickets cannot be checked at present. Connect with the key, or try again later.',
    };
  }
  let principal = redeemed === null ? null : authenticator.principalOf(redeemed.credential);
  if (redeemed !== null && principal === null) {
    // The ticket may belong to a new key that only another gateway knows yet.
    await authenticator.refresh();
    principal = authenticator.principalOf(redeemed.credential);
  }
  if (redeemed === null || principal === null) {
    return { ok: false, code: 'UNAUTHENTICATED', message: 'The ticket is unknown, was used before, or is older than 30 s.' };
  }
  return { principal, addressRanges: redeemed.address === null ? principal.ipRanges : [redeemed.address] };
}

function refusalOf(principal: Principal, { batch }: ConnectionForm): RefusalText | null {
  if (!principal.scopes.includes('stream')) return { message: 'The key lacks the scope `stream`.', details: { scope: 'stream' } };
  return batch ? missingBatch(principal) : null;
}
