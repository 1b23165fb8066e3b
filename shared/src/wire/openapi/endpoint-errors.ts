import { errorTable, type ErrorCode } from '../../errors/codes.ts';
import type { EndpointSpec } from '../rest/endpoint.ts';

const order = Object.keys(errorTable) as ErrorCode[];
/** A path, query, body or form of request that is wrong, and a fault of ours, can be met everywhere. */
const everywhere: readonly ErrorCode[] = ['INVALID_REQUEST', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'INTERNAL'];
const withKey: readonly ErrorCode[] = ['UNAUTHENTICATED', 'FORBIDDEN', 'RATE_LIMIT'];
/** What can spend is not admitted while the limits of keys cannot be counted. */
const spending: readonly ErrorCode[] = ['UPSTREAM_UNAVAILABLE'];

/** Every code that an endpoint can answer, in the order of the table. */
export function endpointErrors({ access, errors }: Pick<EndpointSpec, 'access' | 'errors'>): readonly ErrorCode[] {
  const codes = new Set([...everywhere, ...(access === 'open' ? [] : withKey), ...(access === 'trade' ? spending : []), ...errors]);
  return order.filter((code) => codes.has(code));
}

/** The two forms of an endpoint's path, or the one that it has. */
export function endpointPaths({ path, bothForms }: Pick<EndpointSpec, 'path' | 'bothForms'>): readonly string[] {
  return bothForms ? [path, `/api${path}`] : [path];
}
