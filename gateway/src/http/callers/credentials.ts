import { offeredSubprotocols, streamSubprotocol, type HttpRequest } from '../../transport/transport.ts';

const bearer = 'Bearer ';
/** An invalid key. It replaces a credential without a scheme or with another scheme. */
const noKey = '';

/**
 * The API key of a request: `Authorization: Bearer KEY` or `Authorization: Basic base64(KEY:)`, else `X-API-Key: KEY`, else `?api-key=KEY`. Null
 * if it has none of them, or if one of the last two is empty, as a client sends it that has no key; an invalid key if `Authorization` has another form.
 */
export function apiKeyOf(request: HttpRequest): string | null {
  const header = request.header('authorization');
  if (header === undefined) return request.header('x-api-key') || (request.search === '' ? null : request.query.get('api-key')) || null;
  if (header.startsWith(bearer) && !header.includes(' ', bearer.length)) return header.slice(bearer.length);
  return /^Bearer +(\S+)\s*$/i.exec(header)?.[1] ?? basicUser(header) ?? noKey;
}

/** What a handshake offers in addition to `sluice` as a subprotocol: browsers can send a credential only there or in the URL. */
export function offeredCredentials(request: HttpRequest): readonly string[] {
  const offered = offeredSubprotocols(request);
  return offered.includes(streamSubprotocol) ? offered.filter((name) => name !== streamSubprotocol) : [];
}

/** The user name of HTTP Basic (RFC 7617) with an empty password. Null: another scheme, or a password. */
function basicUser(header: string): string | null {
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+={0,2})\s*$/i.exec(header) ?? [];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  return pair.endsWith(':') && pair.indexOf(':') === pair.length - 1 ? pair.slice(0, -1) : null;
}
