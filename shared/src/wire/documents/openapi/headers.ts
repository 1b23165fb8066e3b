import { expiryHeader, type EndpointSpec } from '../../rest/endpoint.ts';
import { requestIdPattern, versionPattern } from '../../values/values.ts';
import type { JsonObject } from './json.ts';

const text = (description: string, pattern: string, example: string): JsonObject => ({
  description,
  schema: { type: 'string', pattern },
  example,
});
const integer = (description: string, example: number): JsonObject => ({
  description,
  schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  example,
});

/** Headers of answers, as components of the OpenAPI document. */
export const headerComponents: JsonObject = {
  'X-Request-Id': text('On every answer; identifies the request in the log.', requestIdPattern, '01JD2Q6M7N8P9RSTVWXYZ01234'),
  'X-API-Version': text('Version of the API, on every answer.', versionPattern, '1.0.0'),
  'RateLimit-Policy': text(
    'Requests (`q`) in a window of `w` seconds (draft-ietf-httpapi-ratelimit-headers).',
    '^"default";q=[0-9]+;w=60$',
    '"default";q=1000;w=60',
  ),
  RateLimit: text(
    'Requests that would be accepted now (`r`), and seconds until the whole limit is available again (`t`).',
    '^"default";r=[0-9]+;t=[0-9]+$',
    '"default";r=999;t=1',
  ),
  'X-RateLimit-Limit': integer('Requests per minute.', 1000),
  'X-RateLimit-Remaining': integer('Requests that would be accepted now.', 999),
  'X-RateLimit-Reset': integer('When the whole limit is available again, Unix seconds.', 1_900_000_000),
  'Retry-After': integer('Seconds after which the request may be repeated.', 1),
  'WWW-Authenticate': text('How to authenticate.', '^Bearer$', 'Bearer'),
  Deprecation: text('First day of the deprecation: `@` and Unix seconds (RFC 9745).', '^@[0-9]+$', '@1900000000'),
  Sunset: text('When it may be removed (RFC 8594).', ' GMT$', 'Fri, 01 Jan 2027 00:00:00 GMT'),
  'Idempotency-Replayed': text('`true` if the order with this Idempotency-Key existed already.', '^true$', 'true'),
  [expiryHeader]: integer('Whole seconds in which the transaction can still land. For a list, those of its first to expire.', 29),
  Link: text('Its replacement (RFC 5829).', '^</', '</v2/quote>; rel="successor-version"'),
};

const always = ['X-Request-Id', 'X-API-Version'];
const rate = ['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
const deprecation = ['Deprecation', 'Sunset', 'Link'];

/** References to the headers of an answer with this status. */
export function headersOf(status: number, { access, deprecated, idempotent, answerHeaders = [] }: EndpointSpec): JsonObject {
  const isOpen = access === 'open';
  const names = [
    ...always,
    ...(isOpen || status === 401 ? [] : rate),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(status === 429 || status === 503 ? ['Retry-After'] : []),
    ...(deprecated === undefined ? [] : deprecation),
    ...(idempotent === true && status === 200 ? ['Idempotency-Replayed'] : []),
    ...(status === 200 ? answerHeaders : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
