import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import type { HttpAnswer, HttpRequest } from '../../transport/transport.ts';

/** Forms in which a body can be compressed. */
export type Coding = 'br' | 'gzip';

/** Shorter bodies fit into one packet anyway. */
const minBytes = 1_400;
/** Compressions in progress. A further answer is sent uncompressed. */
const maxAtOnce = 32;
/** Effort of 0 to 11. The OpenAPI document, 474 kB, becomes 26 kB in 17 ms; with 9 it would be 23 kB in 150 ms. */
const brotliQuality = 4;

const brotliAsync = promisify(brotliCompress);
const gzipAsync = promisify(gzip);

/**
 * Whether answers of an endpoint may be compressed. The length of a compressed answer depends on its content, so only market data
 * and documents are: they contain no secret. Tickets, keys and orders are never compressed.
 */
export function mayCompress({ access }: Pick<EndpointSpec, 'access'>): boolean {
  return access === 'open' || access === 'read';
}

/** What the clients of this gateway accept: few different texts, read once each. */
const known = new Recent<Coding | null>(100);

/** The best form that the client accepts (RFC 9110, section 12.5.3); null: uncompressed. */
export function acceptedCoding(request: Pick<HttpRequest, 'header'>): Coding | null {
  const text = request.header('accept-encoding');
  if (text === undefined) return null;
  const coding = known.get(text);
  if (coding !== undefined) return coding;
  const best = bestOf(text);
  known.set(text, best);
  return best;
}

function bestOf(text: string): Coding | null {
  const accepted = new Set(
    text
      .split(',')
      .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
      .map((one) => one.split(';')[0]!.trim().toLowerCase()),
  );
  return accepted.has('br') ? 'br' : accepted.has('gzip') ? 'gzip' : null;
}

/** Fixed files in their compressed forms. */
const forms = { br: new WeakMap<Uint8Array, Promise<Uint8Array>>(), gzip: new WeakMap<Uint8Array, Promise<Uint8Array>>() };
let underWay = 0;

/** The answer in the best form that the client accepts. It is compressed outside the event loop. */
export function compressAnswer(request: HttpRequest, answer: HttpAnswer): HttpAnswer | Promise<HttpAnswer> {
  const { status, headers, body } = answer;
  if (status !== 200 || body.length < minBytes || !isText(headers['Content-Type'])) return answer;
  const coding = acceptedCoding(request);
  if (coding === null) return answer;
  const form = headers['ETag'] === undefined || typeof body === 'string' ? compressOnce(body, coding) : compressFile(body, coding);
  if (form === null) return answer;
  return form.then((bytes) => ({ ...answer, headers: { ...headers, 'Content-Encoding': coding }, body: bytes }));
}

/** Images are compressed already. Answers in JSON have no type of their own. */
function isText(contentType: string | undefined): boolean {
  return contentType === undefined || contentType.startsWith('text/') || contentType.startsWith('application/json');
}

function compressOnce(body: string | Uint8Array, coding: Coding): Promise<Uint8Array> | null {
  if (underWay >= maxAtOnce) return null;
  underWay++;
  return compress(body, coding).finally(() => {
    underWay--;
  });
}

/** Only bodies with a tag are retained. They do not change while the gateway runs. */
function compressFile(body: Uint8Array, coding: Coding): Promise<Uint8Array> {
  const form = forms[coding].get(body) ?? compress(body, coding);
  forms[coding].set(body, form);
  return form;
}

function compress(body: string | Uint8Array, coding: Coding): Promise<Uint8Array> {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality, [constants.BROTLI_PARAM_SIZE_HINT]: length };
  return coding === 'br' ? brotliAsync(body, { params }) : gzipAsync(body);
}
