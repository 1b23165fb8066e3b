import { formats, type Format } from '@sluice/shared/wire/frames.ts';
import type { Authenticator } from '../auth/principal.ts';
import { errorAnswer } from '../http/answers.ts';
import { apiKeyOf } from '../http/credentials.ts';
import type { HttpAnswer, HttpRequest } from '../transport/transport.ts';
import type { ConnectionOptions } from './connection.ts';

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
  { authenticator, connections, draining }: { authenticator: Authenticator; connections: number; draining: boolean },
): Handshake {
  const refuse = (answer: HttpAnswer): Handshake => ({ ok: false, answer });
  if (draining) return refuse(errorAnswer(request, 'DRAINING'));
  if (connections >= maxConnections) {
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
  const key = apiKeyOf(request);
  const principal = key === null ? null : authenticator.authenticate(key);
  if (key !== null && principal === null) return refuse(errorAnswer(request, 'UNAUTHENTICATED'));
  if (principal !== null && !principal.scopes.includes('stream')) {
    return refuse(errorAnswer(request, 'FORBIDDEN', 'The key has not the scope `stream`.', { scope: 'stream' }));
  }
  return { ok: true, options: { format: format as Format, batch: batch === '1', principal } };
}
