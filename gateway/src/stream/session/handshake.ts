import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { formats, type Format } from '@sluice/shared/wire/stream/frames.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { ticketPattern } from '@sluice/shared/wire/values/values.ts';
import { splitApiKey } from '../../auth/key-format.ts';
import type { Principal } from '../../auth/principal.ts';
import { commonLines, errorAnswer } from '../../http/answers.ts';
import { apiKeyOf, offeredCredentials } from '../../http/callers/credentials.ts';
import { rateHeaders, rateLines, retryAfterSeconds } from '../../http/headers/rate-headers.ts';
import { offeredSubprotocols, offersCompression, transportLimits, type HttpAnswer, type HttpRequest } from '../../transport/transport.ts';
import type { Admission, Admit, Credential } from './admission.ts';
import type { ConnectionOptions } from './connection.ts';

/** `lines`: headers of the answer that accepts the handshake, in the form of `HttpAnswer.lines`. */
export type Handshake =
  | { readonly ok: true; readonly options: ConnectionOptions; readonly lines: string }
  | { readonly ok: false; readonly answer: HttpAnswer };

export const streamPaths = ['/api/data', '/data'] as const;

/** Connections of one gateway. One more is refused with 429. */
const maxConnections = 50_000;

export interface OpenConnections {
  readonly size: number;
  readonly compressed: number;
  /** Connections without a key so far. */
  readonly unauthenticated: number;
  readonly servesKeyless: boolean;
  /** Whether a key has as many connections as its plan allows. */
  isFull(principal: Principal): boolean;
  /** Whether an address has as many connections without a key as it may have. */
  isFullWithoutKey(address: string): boolean;
}

export interface HandshakeParts {
  readonly admit: Admit;
  readonly connections: OpenConnections;
  /** Connections whose messages may be compressed. One more is accepted without compression. */
  readonly maxCompressed: number;
  /** The client's address; if the request came through trusted proxies, the address that they report. */
  readonly addressOf: (request: HttpRequest) => string;
  readonly isDraining: () => boolean;
  readonly clock: Pick<Clock, 'wallMs'>;
}

interface HandshakeForm {
  readonly format: Format;
  readonly batch: boolean;
  /** The client asks for compressed messages, and can read them. */
  readonly compress: boolean;
  /** Null: the first message must authenticate. */
  readonly credential: Credential | null;
}

/**
 * Decides on a handshake. A key or ticket in it must be valid. Without one, the connection opens and its first message must
 * authenticate. The number of connections is checked last, in the turn of the event loop in which the connection opens, because
 * handshakes that are checked at the same time do not count yet.
 */
export function decideHandshake(request: HttpRequest, parts: HandshakeParts): Handshake | Promise<() => Handshake> {
  const form = readForm(request, parts);
  if ('status' in form) return { ok: false, answer: form };
  const address = parts.addressOf(request);
  const { format, batch, credential } = form;
  const mayCompress = (): boolean => form.compress && parts.connections.compressed < parts.maxCompressed;
  if (credential === null) {
    return { ok: true, options: { format, batch, compress: mayCompress(), principal: null, address }, lines: commonLines };
  }
  return parts.admit(credential, { address, batch }).then((admission) => () => {
    const decided = decideAdmitted(request, admission, parts);
    if ('status' in decided) return { ok: false, answer: decided };
    const { principal, lines } = decided;
    return { ok: true, options: { format, batch, compress: mayCompress(), principal, address }, lines };
  });
}

/** Reads the request, before its credential is checked: its parts, or why it is refused. */
function readForm(request: HttpRequest, { connections, addressOf, isDraining }: HandshakeParts): HandshakeForm | HttpAnswer {
  if (isDraining()) return errorAnswer(request, 'DRAINING');
  const malformed = checkUpgrade(request);
  if (malformed !== null) return malformed;
  if (connections.size >= maxConnections) return gatewayFull(request);
  const format = request.query.get('format') ?? 'json';
  if (!formats.includes(format as Format)) {
    return errorAnswer(request, 'INVALID_REQUEST', '`format` must be json or msgpack.', { fields: { format: 'unknown' } });
  }
  for (const name of ['batch', 'compress']) {
    if (['0', '1', null].includes(request.query.get(name))) continue;
    return errorAnswer(request, 'INVALID_REQUEST', `\`${name}\` must be 0 or 1.`, { fields: { [name]: 'unknown' } });
  }
  const batch = request.query.get('batch') === '1';
  const compress = request.query.get('compress') === '1' && offersCompression(request);
  const fault = credentialFault(request, connections.servesKeyless);
  if (fault !== null) return errorAnswer(request, 'UNAUTHENTICATED', fault);
  const credential = credentialOf(request);
  if (credential === null && connections.unauthenticated >= streamLimits.unauthenticatedConnections) {
    const message = 'This gateway has reached its limit of connections that have not authenticated.';
    return errorAnswer(request, 'RATE_LIMIT', message, { limit: streamLimits.unauthenticatedConnections });
  }
  if (credential === null && connections.isFullWithoutKey(addressOf(request))) {
    const message = 'This address has reached the limit of connections without an API key.';
    return errorAnswer(request, 'RATE_LIMIT', message, { limit: streamLimits.keylessConnections });
  }
  return { format: format as Format, batch, compress, credential };
}

function credentialOf(request: HttpRequest): Credential | null {
  const [offered] = offeredCredentials(request);
  if (offered !== undefined) return ticketForm.test(offered) ? { ticket: offered } : { key: offered };
  const ticket = request.query.get('ticket');
  if (ticket !== null) return { ticket };
  const key = apiKeyOf(request);
  return key === null ? null : { key };
}

const ticketForm = new RegExp(ticketPattern);

function gatewayFull(request: HttpRequest): HttpAnswer {
  return errorAnswer(request, 'RATE_LIMIT', 'This gateway has reached its limit of connections.', { limit: maxConnections });
}

/**
 * Decides when the credential was checked; other clients may have connected meanwhile. An accepted client gets the rate-limit headers of its key in
 * `lines`, a refused one those of the key against whose limit the request was counted.
 */
function decideAdmitted(
  request: HttpRequest,
  admission: Admission,
  { connections, isDraining, clock }: HandshakeParts,
): HttpAnswer | { readonly principal: Principal; readonly lines: string } {
  const nowMs = clock.wallMs();
  const counted = admission.ok ? admission : admission.counted;
  const headers = counted === undefined ? {} : rateHeaders(counted.principal.plan, counted.decision, nowMs);
  if (!admission.ok) {
    const { code, message, details } = admission;
    const wait = code === 'RATE_LIMIT' && counted !== undefined ? { 'Retry-After': String(retryAfterSeconds(counted.decision)) } : {};
    return errorAnswer(request, code, message, details, { ...headers, ...wait });
  }
  const { principal, decision } = admission;
  const { plan } = principal;
  if (isDraining()) return errorAnswer(request, 'DRAINING', undefined, undefined, headers);
  if (connections.size >= maxConnections) return gatewayFull(request);
  if (!connections.isFull(principal)) return { principal, lines: commonLines + rateLines(plan, decision, nowMs) };
  const message = `This key has reached the limit of connections of the plan ${plan.name}.`;
  return errorAnswer(request, 'RATE_LIMIT', message, { limit: plan.connections }, headers);
}

/** What violates RFC 6455; null if nothing does. */
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
    return errorAnswer(request, 'INVALID_REQUEST', 'A WebSocket handshake needs `Upgrade: websocket` and `Connection: Upgrade`.');
  }
  if (headers.get('sec-websocket-version') !== '13') {
    const offer = { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
    return {
      ...errorAnswer(request, 'INVALID_REQUEST', 'Only version 13 of the WebSocket protocol is supported.', undefined, offer),
      status: 426,
    };
  }
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers.get('sec-websocket-key') ?? '')) {
    return errorAnswer(request, 'INVALID_REQUEST', '`Sec-WebSocket-Key` must be 16 bytes in base64.');
  }
  return null;
}

/** Wrong names under which clients send a credential. */
const misnamedCredentials: ReadonlySet<string> = new Set(['apikey', 'key', 'token', 'accesstoken', 'authorization', 'auth', 'wsticket']);

/** What is wrong with the credentials of a request; null if nothing is. `servesKeyless`: an empty key is no key. */
function credentialFault(request: HttpRequest, servesKeyless: boolean): string | null {
  for (const name of request.query.keys()) {
    if (name === 'api-key' || name === 'ticket') continue;
    const plain = name.toLowerCase().replaceAll(/[^a-z]/g, '');
    if (misnamedCredentials.has(plain)) return 'Send a key as `?api-key=` or as `Authorization: Bearer KEY`, and a ticket as `?ticket=`.';
  }
  const tickets = request.query.getAll('ticket').length;
  if (tickets > 1) return 'Send only one ticket.';
  const key = apiKeyOf(request);
  if (tickets === 1 && key !== null) return 'Send a key or a ticket, not both.';
  const offered = offeredCredentials(request).length;
  if (offered > 1) return 'Offer only `sluice` and one key or ticket as subprotocols.';
  if (offered === 1 && (tickets === 1 || key !== null)) return 'Send only one key or ticket.';
  if (offered === 0 && offeredSubprotocols(request).some((name) => splitApiKey(name) !== null)) {
    return 'With a key as a subprotocol, offer `sluice` too: new WebSocket(url, ["sluice", KEY]).';
  }
  return key === null && request.query.get('api-key') === '' && !servesKeyless ? '`api-key` is empty.' : null;
}
