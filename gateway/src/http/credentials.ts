import type { HttpRequest } from '../transport/transport.ts';

const bearer = 'Bearer ';
/** A credential that opens nothing, in place of one without a scheme, or of another scheme. */
const noKey = '';

/** The API key of a request: `Authorization: Bearer KEY`, else `?api-key=KEY`; null where it has neither, and no key where the header is of another form. */
export function apiKeyOf(request: HttpRequest): string | null {
  const header = request.header('authorization');
  if (header === undefined) return request.search === '' ? null : request.query.get('api-key');
  if (header.startsWith(bearer) && !header.includes(' ', bearer.length)) return header.slice(bearer.length);
  return /^Bearer +(\S+)\s*$/i.exec(header)?.[1] ?? noKey;
}
