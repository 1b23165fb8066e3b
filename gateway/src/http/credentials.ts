import type { HttpRequest } from '../transport/transport.ts';

/** The API key of a request: `Authorization: Bearer KEY`, else `?api-key=KEY`; null where it has neither. */
export function apiKeyOf(request: HttpRequest): string | null {
  const header = request.headers.get('authorization');
  // Any other scheme is a credential too, and a wrong one.
  if (header !== undefined) return /^Bearer +(\S+)\s*$/i.exec(header)?.[1] ?? header;
  return request.query.get('api-key');
}
