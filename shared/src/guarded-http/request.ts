import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';
import type { FetchFault } from './fetch-fault.ts';

/** Bytes of an answer's headers. */
const maxHeaderBytes = 16 * 1024;
const redirectStatuses: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308]);

export type Answer =
  | { readonly kind: 'body'; readonly body: Buffer }
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'fault'; readonly reason: FetchFault };

const fault = (reason: FetchFault): Answer => ({ kind: 'fault', reason });

/**
 * Sends one GET to one of `addresses`, and to no other, even if the name resolves differently meanwhile. It has no credentials and no
 * cookies. The body is counted both as received and while it is unpacked. Never rejects; returns `unreachable` even if `signal` aborted.
 */
export function requestOnce(
  url: URL,
  addresses: readonly string[],
  { accept, maxBytes, signal }: { readonly accept: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Answer> {
  const options: RequestOptions & { readonly rejectUnauthorized: true } = {
    method: 'GET',
    headers: { accept, 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'sluice' },
    // A connection of its own: none stays open, and none is shared with an address that was checked at another time.
    agent: false,
    lookup: pinnedTo(addresses),
    maxHeaderSize: maxHeaderBytes,
    rejectUnauthorized: true,
    signal,
  };
  return new Promise((resolve) => {
    let isAnswered = false;
    const request = url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options);
    request.on('response', (response) => {
      isAnswered = true;
      void readAnswer(response, maxBytes)
        .then(resolve)
        .finally(() => request.destroy());
    });
    request.on('error', (error: NodeJS.ErrnoException) =>
      resolve(fault(error.code === 'HPE_HEADER_OVERFLOW' ? 'too_large' : 'unreachable')),
    );
    // No answer and no error: the other side asked for another protocol.
    request.on('close', () => {
      if (!isAnswered) resolve(fault('unreachable'));
    });
    request.end();
  });
}

/** Answers every lookup of a connection with the checked addresses. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, done) => {
    const [first] = found;
    if (options.all === true) done(null, found);
    else done(null, first!.address, first!.family);
  };
}

async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<Answer> {
  const { statusCode, headers } = response;
  if (redirectStatuses.has(statusCode)) {
    return headers.location === undefined ? fault('status') : { kind: 'redirect', location: headers.location };
  }
  if (statusCode !== 200) return fault('status');
  if (Number(headers['content-length'] ?? 0) > maxBytes) return fault('too_large');
  const packed = await readBody(response, maxBytes);
  return Buffer.isBuffer(packed) ? unpack(packed, headers['content-encoding'], maxBytes) : fault(packed);
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer | FetchFault> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return 'too_large';
      chunks.push(chunk);
    }
  } catch {
    // The connection broke; the reason is of no use to the caller.
    return 'unreachable';
  }
  return Buffer.concat(chunks);
}

const unpackers: Readonly<Record<string, (packed: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(unzip),
  'x-gzip': promisify(unzip),
  deflate: promisify(unzip),
  br: promisify(brotliDecompress),
};

async function unpack(packed: Buffer, encoding: string | undefined, maxBytes: number): Promise<Answer> {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return { kind: 'body', body: packed };
  const unpacker = Object.hasOwn(unpackers, name) ? unpackers[name] : undefined;
  if (unpacker === undefined) return fault('encoding');
  try {
    return { kind: 'body', body: await unpacker(packed, { maxOutputLength: maxBytes }) };
  } catch (error) {
    return fault((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'encoding');
  }
}
