import { keylessQuota } from '@sluice/shared/wire/rest/endpoint.ts';
import { addressLimit } from '../../ratelimit/address-limit.ts';
import { processClock, type LimitClock } from '../../ratelimit/limiter.ts';
import type { HttpRequest } from '../../transport/transport.ts';
import type { Refusal } from '../answers.ts';
import { apiKeyOf } from './credentials.ts';

/** Why a request without a valid key is refused, at an endpoint that needs none (`keyless`); null if it is served. */
export type AdmitKeyless = (request: HttpRequest) => Refusal | null;

/** Serves requests without a key, counted by the address of the client. A wrong key is refused even here. */
export function createKeyless(addressOf: (request: HttpRequest) => string, clock: Pick<LimitClock, 'nowUs'> = processClock): AdmitKeyless {
  const limit = addressLimit(keylessQuota, clock);
  return (request) => {
    if (apiKeyOf(request) !== null) return { error: 'UNAUTHENTICATED' };
    const retryAfterMs = limit(addressOf(request));
    if (retryAfterMs === 0) return null;
    const seconds = Math.ceil(retryAfterMs / 1000);
    const message = `This address has used up its requests without an API key. The next one is accepted in ${seconds} s.`;
    return { error: 'RATE_LIMIT', message, details: { limit: keylessQuota.perMinute, retryAfterMs }, retryAfterSeconds: seconds };
  };
}
