import { expiryHeader } from '@sluice/shared/wire/rest/endpoint.ts';
import type { HttpRequest } from '../../transport/transport.ts';
import { linesOf } from '../answers.ts';
import { rateHeaderNames } from './rate-headers.ts';

const exposed = [
  ...rateHeaderNames,
  'X-Request-Id',
  'X-API-Version',
  'Deprecation',
  'Sunset',
  'Link',
  'Idempotency-Replayed',
  expiryHeader,
].join(', ');
const allowedHeaders = 'Authorization, X-API-Key, Content-Type, Idempotency-Key, X-Request-Id';
/** How long a browser may cache the answer to a preflight, in seconds. */
const maxAge = '7200';
const vary = linesOf({ Vary: 'Origin' });

/**
 * Which pages of other origins may call (Fetch standard, CORS protocol): `origins` from the settings, `*` for any. Cookies are never allowed,
 * because the API uses keys only. Returns header lines.
 */
export function corsPolicy(origins: readonly string[]) {
  const any = origins.includes('*');
  const allowedOrigin = (request: HttpRequest): string | null => {
    const origin = request.header('origin');
    if (origin === undefined) return null;
    // The answer never repeats what was sent, only what is configured.
    return any ? '*' : origins.includes(origin) ? origin : null;
  };
  return {
    onAnswer: (request: HttpRequest): string => {
      if (origins.length === 0) return '';
      const origin = allowedOrigin(request);
      return origin === null ? vary : vary + linesOf({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposed });
    },
    onPreflight: (request: HttpRequest, methods: string): string => {
      const origin = allowedOrigin(request);
      if (origin === null || request.header('access-control-request-method') === undefined) return '';
      return linesOf({
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': allowedHeaders,
        'Access-Control-Max-Age': maxAge,
      });
    },
  };
}
