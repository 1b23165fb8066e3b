import type { Authenticator, Principal } from '../../auth/principal.ts';
import type { FindSessionCaller } from '../../http/callers/callers.ts';
import { networkOf } from '../../ratelimit/address-limit.ts';
import { inProcessLimiter } from '../../ratelimit/local-limits.ts';
import type { Quota } from '../../ratelimit/limiter.ts';
import { StoreUnavailableError } from '../../store/store-unavailable.ts';
import type { HttpRequest } from '../../transport/transport.ts';
import type { DashboardOptions } from '../gate.ts';
import { principalOfKey } from './page-key.ts';
import { mayRead, originOfChange, publicOrigins } from '../public-origins.ts';
import { findSession, isCsrfTokenOf, sessionTokenOf } from './sessions.ts';

/** The page names the key with which it acts. */
const keyHeader = 'x-sluice-key';
const tokenHeader = 'x-csrf-token';
/** Requests of sessions from one address, before the limit of the key. Each one reads the store. */
const quota: Quota = { perMinute: 1_200, burst: 240 };

export interface SessionCallerOptions extends Pick<DashboardOptions, 'store' | 'config' | 'port' | 'log'> {
  readonly authenticator: Pick<Authenticator, 'principalOf' | 'refresh' | 'noteUse'>;
  readonly addressOf: (request: HttpRequest) => string;
}

/**
 * Lets the page of a signed-in visitor call the public endpoints without knowing a key. The request has the cookie of the session, its CSRF
 * token (even if it changes nothing, because other origins cannot send it) and the id of one of its keys. It then has the scopes and limits
 * of this key, and owns what it creates.
 */
export function createSessionCallers(options: SessionCallerOptions): FindSessionCaller {
  const { store, config, port, authenticator, addressOf, log } = options;
  const limiter = inProcessLimiter();
  const find = async (request: HttpRequest, csrfToken: string, keyId: string): Promise<Principal | 'unavailable' | null> => {
    const origins = publicOrigins(config, port());
    if (!origins.ok || !mayRead(request, origins)) return null;
    if (request.method !== 'GET' && request.method !== 'HEAD' && originOfChange(request, origins) === null) return null;
    const token = sessionTokenOf(request.headers.get('cookie'), origins.secure);
    if (token === null || !(await limiter.take(`session:${networkOf(addressOf(request))}`, quota, 1)).admitted) return null;
    try {
      const nowMs = store.time.nowMs();
      const signedIn = await findSession(store, token, nowMs);
      if (signedIn === null || !isCsrfTokenOf(signedIn, csrfToken)) return null;
      const principal = await principalOfKey({ store, authenticator }, signedIn.account, keyId, nowMs);
      if (principal !== null) authenticator.noteUse(principal.keyId);
      return principal;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      log.warn({ reason: error.message, requestId: request.requestId }, 'session_store_unavailable');
      return 'unavailable';
    }
  };
  return (request) => {
    const keyId = request.header(keyHeader);
    const csrfToken = keyId === undefined ? undefined : request.header(tokenHeader);
    return keyId === undefined || csrfToken === undefined ? null : find(request, csrfToken, keyId);
  };
}
