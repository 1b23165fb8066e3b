import { formats, type Format } from '@sluice/shared/wire/frames.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import type { Authenticator } from '../auth/principal.ts';
import { errorAnswer } from '../http/answers.ts';
import { apiKeyOf } from '../http/credentials.ts';
import { transportLimits, type HttpAnswer, type HttpRequest } from '../transport/transport.ts';
import type { ConnectionOptions } from './connection.ts';
import type { Hub } from './hub.ts';

export type Handshake = { readonly ok: true; readonly options: ConnectionOptions } | { readonly ok: false; readonly answer: HttpAnswer };

export const streamPaths = ['/api/data', '/data'] as const;

/** Connections of one gateway; one more is refused with 429. */
const maxConnections = 50_000;

/**
 * Decides on a handshake. A key that is given must be good; with none, the connection is opened and its first message
 * has to authenticate it.
 */
export function judgeHandshake(
  request: HttpRequest,
  {
    authenticator,
    hub,
    draining,
  }: { authenticator: Authenticator; hub: Pick<Hub, 'connections' | 'strangers' | 'usages'>; draining: boolean },
): Handshake {
  const refuse = (answer: HttpAnswer): Handshake => ({ ok: false, answer });
  if (draining) return refuse(errorAnswer(request, 'DRAINING'));
  const malformed = checkUpgrade(request);
  if (malformed !== null) return refuse(malformed);
  if (hub.connections >= maxConnections) {
    return refuse(errorAnswer(request, 'RATE_LIMIT', 'This gateway has as many connections as it takes.', { limit: maxConnections }));
  }
  const format = request.query.get('format') ?? 'json';
  if (!formats.includes(format as Format)) {
    return refuse(errorAnswer(request, 'INVALID_REQUEST', '`format` must be json or msgpack.', { fields: { format: 'unknown' } }));
  }
  const batch = request.query.get('batch') ?? '0';
  if (batch !== '0' && batch !== '1') {
    return refuse(errorAnswer(request, 'INVALID_REQUEST', '`batch` must be 0 or 1.', { fields: { batch: 'unknown' } }));
  }
  const stray = strayCredential(request);
  if (stray !== null) return refuse(errorAnswer(request, 'UNAUTHENTICATED', stray));
  const key = apiKeyOf(request);
  const principal = key === null ? null : authenticator.authenticate(key);
  if (key !== null && principal === null) return refuse(errorAnswer(request, 'UNAUTHENTICATED'));
  if (principal !== null && !principal.scopes.includes('stream')) {
    return refuse(errorAnswer(request, 'FORBIDDEN', 'The key has not the scope `stream`.', { scope: 'stream' }));
  }
  if (principal === null && hub.strangers >= streamLimits.strangers) {
    const message = 'This gateway has as many connections without a key as it takes.';
    return refuse(errorAnswer(request, 'RATE_LIMIT', message, { limit: streamLimits.strangers }));
  }
  if (principal !== null && hub.usages.isFull(principal.keyId)) {
    const message = 'This key has as many connections as it may.';
    return refuse(errorAnswer(request, 'RATE_LIMIT', message, { limit: streamLimits.connectionsPerKey }));
  }
  return { ok: true, options: { format: format as Format, batch: batch === '1', principal } };
}

/** What RFC 6455 asks of a handshake; null where it is one. */
function checkUpgrade(request: HttpRequest): HttpAnswer | null {
  const { headers } = request;
  const tokens = (name: string): string[] =>
    (headers.get(name) ?? '')
      .toLowerCase()
      .split(',')
      .map((token) => token.trim());
  if (request.method !== 'GET') return errorAnswer(request, 'METHOD_NOT_ALLOWED', undefined, undefined, { Allow: 'GET' });
  if (request.urlChars > transportLimits.urlChars) return errorAnswer(request, 'INVALID_REQUEST', 'The URL is too long.');
  if (!tokens('upgrade').includes('websocket') || !tokens('connection').includes('upgrade')) {
    return errorAnswer(request, 'INVALID_REQUEST', 'A WebSocket needs `Upgrade: websocket` and `Connection: Upgrade`.');
  }
  if (headers.get('sec-websocket-version') !== '13') {
    const offer = { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
    return { ...errorAnswer(request, 'INVALID_REQUEST', 'Only version 13 of WebSocket is spoken.', undefined, offer), status: 426 };
  }
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers.get('sec-websocket-key') ?? '')) {
    return errorAnswer(request, 'INVALID_REQUEST', '`Sec-WebSocket-Key` must be 16 bytes in base64.');
  }
  return null;
}

/** Other names under which clients send what they hold for a credential. */
const strayNames: ReadonlySet<string> = new Set(['apikey', 'key', 'token', 'accesstoken', 'authorization', 'auth']);

/** What is wrong with a credential in the query that is not `api-key`; null where there is none. */
function strayCredential(request: HttpRequest): string | null {
  for (const name of request.query.keys()) {
    if (name === 'ticket') return 'This gateway issues no tickets; authenticate with the first message, {"op":"auth","key":"…"}.';
    const plain = name.toLowerCase().replaceAll(/[^a-z]/g, '');
    if (name !== 'api-key' && strayNames.has(plain)) return 'The key belongs in `?api-key=`, or in `Authorization: Bearer KEY`.';
  }
  return null;
}
