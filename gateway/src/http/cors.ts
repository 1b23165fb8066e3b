import type { HttpRequest } from '../transport/transport.ts';
import { rateHeaderNames } from './rate-headers.ts';

const exposed = [...rateHeaderNames, 'X-Request-Id', 'X-API-Version', 'Deprecation', 'Sunset', 'Link'].join(', ');
const allowedHeaders = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id';
/** For how long a browser may remember what it was told, seconds. */
const maxAge = '7200';

/**
 * What pages of other origins may do (Fetch standard, CORS protocol): `origins` as configured, `*` for any. Cookies are
 * never let along: the interface knows API keys only.
 */
export function corsPolicy(origins: readonly string[]): Cors {
  if (origins.length === 0) return { onAnswer: () => none, onPreflight: () => none };
  const any = origins.includes('*');
  const known = new Set(origins);
  const allowedOrigin = (request: HttpRequest): string | null => {
    const origin = request.headers.get('origin');
    if (origin === undefined) return null;
    return any ? '*' : known.has(origin) ? origin : null;
  };
  return {
    onAnswer: (request) => {
      const origin = allowedOrigin(request);
      return origin === null ? vary : { ...vary, 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposed };
    },
    onPreflight: (request, methods) => {
      const origin = allowedOrigin(request);
      if (origin === null || !request.headers.has('access-control-request-method')) return vary;
      return {
        ...vary,
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': allowedHeaders,
        'Access-Control-Max-Age': maxAge,
      };
    },
  };
}

export interface Cors {
  onAnswer(request: HttpRequest): Readonly<Record<string, string>>;
  onPreflight(request: HttpRequest, methods: string): Readonly<Record<string, string>>;
}

const none: Readonly<Record<string, string>> = {};
const vary: Readonly<Record<string, string>> = { Vary: 'Origin' };
