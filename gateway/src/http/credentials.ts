import type { HttpRequest } from '../transport/transport.ts';

const bearer = 'Bearer ';

/** The API key of a request: `Authorization: Bearer KEY`, else `?api-key=KEY`; null where it has neither. */
export function apiKeyOf(request: HttpRequest): string | null {
  const header = request.header('authorization');
  if (header === undefined) return request.search === '' ? null : request.query.get('api-key');
  if (header.startsWith(bearer) && !header.includes(' ', bearer.length)) return header.slice(bearer.length);
  // Any other scheme is a credential too, and a wrong one.
  return /^Bearer +(\S+)\s*$/i.exec(header)?.[1] ?? header;
}
