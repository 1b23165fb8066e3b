import { errorTable, type ErrorCode } from '../../errors.ts';
import type { EndpointSpec } from '../../rest/endpoint.ts';

const order = Object.keys(errorTable) as ErrorCode[];
/** Errors of every endpoint: the path, query, body or content type is wrong, or the server failed. */
const everywhere: readonly ErrorCode[] = ['INVALID_REQUEST', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'INTERNAL'];
const withKey: readonly ErrorCode[] = ['UNAUTHENTICATED', 'FORBIDDEN', 'RATE_LIMIT'];
/** Errors of endpoints that can spend: they are refused while the limits of keys cannot be counted. */
const spending: readonly ErrorCode[] = ['UPSTREAM_UNAVAILABLE'];

/** All error codes that an endpoint can return, in the order of the table. */
export function endpointErrors({ access, errors }: Pick<EndpointSpec, 'access' | 'errors'>): readonly ErrorCode[] {
  const codes = new Set([...everywhere, ...(access === 'open' ? [] : withKey), ...(access === 'trade' ? spending : []), ...errors]);
  return order.filter((code) => codes.has(code));
}

/** The paths of an endpoint: with and without `/api`, or only one of them. */
export function endpointPaths({ path, withApiPrefix }: Pick<EndpointSpec, 'path' | 'withApiPrefix'>): readonly string[] {
  return withApiPrefix ? [path, `/api${path}`] : [path];
}
