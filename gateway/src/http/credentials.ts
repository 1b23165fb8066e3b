import type { HttpRequest } from '../transport/transport.ts';

const bearer = 'Bearer ';
/** An invalid key. It replaces a credential without a scheme or with another scheme. */
const noKey = '';

/** The API key of a request: `Authorization: Bearer KEY`, else `?api-key=KEY`. Null if it has neither; an invalid key if the header has another form. */
export function apiKeyOf(request: HttpRequest): string | null {
  const header = request.header('authorization');
  if (header === undefined) return request.search === '' ? null : request.query.get('api-key');
  if (header.startsWith(bearer) && !header.includes(' ', bearer.length)) return header.slice(bearer.length);
  return /^Bearer +(\S+)\s*$/i.exec(header)?.[1] ?? noKey;
}
