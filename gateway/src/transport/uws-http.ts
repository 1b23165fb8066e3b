import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type * as UwsModule from 'uWebSockets.js';
import { ReceivedRequest } from './request.ts';
import { bodyLength, isBodiless, statusText, transportLimits } from './transport.ts';
import type { HttpAnswer, HttpRequest, ReceivedBody, TransportHandlers } from './transport.ts';

type Res = UwsModule.HttpResponse;
type Req = UwsModule.HttpRequest;

// Only this file uses `req`, and only this file and the upgrade use `res`. `req` is invalid after the handler has returned, `res` after an
// abort or an end. A handler that returns without an end and without an abort handler aborts the process.

const noBody = new Uint8Array(0);
const addressDecoder = new TextDecoder();

/** What all requests of a listener share. */
export interface HttpServing {
  readonly handlers: TransportHandlers;
  readonly log: Logger;
  /** Whether every answer is the last one of its connection. */
  readonly isClosing: () => boolean;
  /** Whether new WebSockets are refused, because few file descriptors are left. */
  readonly isFull: () => boolean;
}

/** A response that is not ready yet. It can be ended at most once, and not after an abort. */
export class Responder {
  readonly #res: Res;
  readonly #request: ReceivedRequest;
  readonly #isClosing: () => boolean;
  #open = true;

  constructor(res: Res, request: ReceivedRequest, { isClosing }: Pick<HttpServing, 'isClosing'>) {
    this.#res = res;
    this.#request = request;
    this.#isClosing = isClosing;
    res.onAborted(() => {
      this.#open = false;
    });
  }

  get open(): boolean {
    return this.#open;
  }

  end(answer: HttpAnswer, closeConnection = false): void {
    if (!this.#open) return;
    this.#open = false;
    write(this.#res, this.#request, answer, closeConnection || this.#isClosing());
  }

  /** Lets `end` end the response. It is not called if the client has disconnected. */
  handOver(end: () => void): void {
    if (!this.#open) return;
    this.#open = false;
    end();
  }
}

/** Ends a response, which must be open. */
function write(res: Res, request: ReceivedRequest, answer: HttpAnswer, closeConnection: boolean): void {
  const { status, lines, headers, body } = answer;
  const line = status === 200 ? '200 OK' : statusText(status);
  res.cork(() => {
    if (!request.isContinued) res.writeStatus(line);
    // A call into the native code costs more than the bytes, so the shared headers are appended to the value of this one.
    res.writeHeader(`${request.isContinued ? `HTTP/1.1 ${line}\r\n` : ''}X-Request-Id`, request.requestId + lines);
    for (const name in headers) res.writeHeader(name, headers[name]!);
    if (hasNoBody(request, answer)) endWithoutBody(res, answer, closeConnection);
    else if (closeConnection || body.length === 0) res.end(body, closeConnection);
    else endWithBody(res, answer);
  });
}

/**
 * Waits until the client reads, instead of buffering the body: the answer stays open until then, and uWebSockets.js cuts the connection if
 * the client sends a further request. Otherwise a client could fill the memory with small requests.
 */
function endWithBody(res: Res, answer: HttpAnswer): void {
  const { body } = answer;
  const total = bodyLength(answer);
  if (res.tryEnd(body, total)[1]) return;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  res.onAborted(ignoreAbort);
  res.onWritable((offset) => res.tryEnd(bytes.subarray(offset), total)[0]);
}

/**
 * Ends a response without a body, but with the length that the body would have. The native call with a length waits for this number of
 * bytes, which never come. That is acceptable if the connection closes anyway; otherwise the length is written as a header.
 */
function endWithoutBody(res: Res, answer: HttpAnswer, closeConnection: boolean): void {
  if (closeConnection) {
    // An incomplete answer needs an abort handler. Otherwise the process is aborted.
    res.onAborted(ignoreAbort);
    res.endWithoutBody(bodyLength(answer), true);
    return;
  }
  if (!isBodiless(answer.status)) res.writeHeader('Content-Length', String(bodyLength(answer)));
  res.endWithoutBody();
}

function hasNoBody({ method }: HttpRequest, { status }: HttpAnswer): boolean {
  return method === 'HEAD' || isBodiless(status);
}

const ignoreAbort = (): void => undefined;

/** The headers of the request that is being read: names and values, alternating. */
let fields: string[] = [];
const collectField = (name: string, value: string): void => {
  fields.push(name, value);
};

/** The request is valid until the transport's call returns. `settle` copies the rest. */
export function readRequest(res: Res, req: Req): ReceivedRequest {
  fields = [];
  req.forEach(collectField);
  const search = req.getQuery() as string | undefined;
  return new ReceivedRequest(req.getCaseSensitiveMethod(), req.getUrl(), search ?? '', fields, () =>
    addressDecoder.decode(res.getRemoteAddressAsText()),
  );
}

/** Where a request ends, according to its headers. */
type Framing = 'no_body' | 'body' | 'too_large' | 'ambiguous';

function framingOf(request: ReceivedRequest): Framing {
  const declared = request.header('content-length');
  const coding = request.header('transfer-encoding');
  if (declared === undefined && coding === undefined) return 'no_body';
  // Two lengths allow two readings of where the next request begins. An empty one could be read as no length.
  if (declared === '' || !request.isCodingKnown || (declared !== undefined && coding !== undefined)) return 'ambiguous';
  if (declared !== undefined && request.count('content-length') > 1) return 'ambiguous';
  return Number(declared ?? 0) > transportLimits.bodyBytes ? 'too_large' : 'body';
}

export function serveHttp(res: Res, req: Req, serving: HttpServing): void {
  const request = readRequest(res, req);
  switch (framingOf(request)) {
    case 'no_body':
      answerNow(res, request, noBody, serving);
      return;
    case 'too_large':
      answerNow(res, request, 'too_large', serving);
      return;
    case 'ambiguous': {
      // The answer is sent in the next turn of the event loop. If another request is hidden after this one, uWebSockets.js cuts the
      // connection until then; after the answer, the connection is closed.
      const responder = new Responder(res, request, serving);
      request.settle();
      setImmediate(() => void Promise.resolve(serving.handlers.malformed(request)).then((answer) => responder.end(answer, true)));
      return;
    }
    case 'body':
      readBody(res, request, serving);
  }
}

/**
 * Some clients, such as Java's, send `100-Continue`, and wait. The native server continues only `100-continue`, and has no call for it. It
 * writes a line break after a status, and the answer is then written without one (see `write`).
 */
function continueRequest(res: Res, request: ReceivedRequest): void {
  const expected = request.header('expect');
  if (expected === undefined || expected === '100-continue' || expected.toLowerCase() !== '100-continue') return;
  res.writeStatus('100 Continue\r\n');
  request.isContinued = true;
}

function readBody(res: Res, request: ReceivedRequest, serving: HttpServing): void {
  continueRequest(res, request);
  const responder = new Responder(res, request, serving);
  request.settle();
  const chunks: Buffer[] = [];
  let length = 0;
  let handed = false;
  res.onData((chunk, isLast) => {
    if (handed || !responder.open) return;
    length += chunk.byteLength;
    const tooLarge = length > transportLimits.bodyBytes;
    handed = isLast || tooLarge;
    if (tooLarge) answerLater(responder, request, 'too_large', serving);
    else {
      // Copied, because the bytes are only valid during this call.
      if (chunk.byteLength > 0) chunks.push(Buffer.from(Buffer.from(chunk)));
      if (isLast) answerLater(responder, request, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), serving);
    }
  });
}

/** Answers within the transport's call. A response that ends at once needs no abort handler. */
function answerNow(res: Res, request: ReceivedRequest, body: ReceivedBody, serving: HttpServing): void {
  const outcome = ask(request, body, serving);
  if (!(outcome instanceof Promise)) {
    write(res, request, outcome, body === 'too_large' || serving.isClosing());
    return;
  }
  const responder = new Responder(res, request, serving);
  request.settle();
  void outcome.then((answer) => responder.end(answer, body === 'too_large'));
}

/** Answers later. After `too_large` the connection is closed, because the unread body still arrives. */
function answerLater(responder: Responder, request: HttpRequest, body: ReceivedBody, serving: HttpServing): void {
  const outcome = ask(request, body, serving);
  if (outcome instanceof Promise) void outcome.then((answer) => responder.end(answer, body === 'too_large'));
  else responder.end(outcome, body === 'too_large');
}

/** Calls the handler. Never throws, never rejects. */
function ask(request: HttpRequest, body: ReceivedBody, { handlers, log }: HttpServing): HttpAnswer | Promise<HttpAnswer> {
  try {
    const outcome = handlers.http(request, body);
    return outcome instanceof Promise ? outcome.catch((error: unknown) => fault(request, error, handlers, log)) : outcome;
  } catch (error) {
    return fault(request, error, handlers, log);
  }
}

function fault(request: HttpRequest, error: unknown, handlers: TransportHandlers, log: Logger): HttpAnswer {
  log.error({ err: error, requestId: request.requestId, path: request.path }, 'http_handler_failed');
  return handlers.fault(request);
}
