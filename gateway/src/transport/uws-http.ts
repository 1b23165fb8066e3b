import type { Logger } from '@sluice/shared/log/log.ts';
import type * as UwsModule from 'uWebSockets.js';
import { ReceivedRequest } from './request.ts';
import { statusText } from './status-text.ts';
import { isBodiless, transportLimits, type HttpAnswer, type HttpRequest, type ReceivedBody, type TransportHandlers } from './transport.ts';

type Res = UwsModule.HttpResponse;
type Req = UwsModule.HttpRequest;

// Nothing outside this file touches `req`, and nothing but the upgrade touches `res`: `req` is dead when a handler returns, `res`
// after an abort or an end, and a handler that returns without an end or an abort handler aborts the process.

const noBody = new Uint8Array(0);
const addressDecoder = new TextDecoder();

/** What all requests of a listener have in common. */
export interface HttpServing {
  readonly handlers: TransportHandlers;
  readonly log: Logger;
  /** Every answer is the last of its connection. */
  readonly isClosing: () => boolean;
}

/** A response that waits: it can be ended at most once and never after its abort. */
export class Responder {
  readonly #res: Res;
  readonly #request: HttpRequest;
  readonly #isClosing: () => boolean;
  #open = true;

  constructor(res: Res, request: HttpRequest, { isClosing }: Pick<HttpServing, 'isClosing'>) {
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

  /** Leaves the response to `end`, which ends it otherwise; not called where the client has gone. */
  handOver(end: () => void): void {
    if (!this.#open) return;
    this.#open = false;
    end();
  }
}

/** Ends a response that is known to be open. */
function write(res: Res, request: HttpRequest, answer: HttpAnswer, closeConnection: boolean): void {
  const { status, lines, headers, body } = answer;
  res.cork(() => {
    res.writeStatus(status === 200 ? '200 OK' : statusText(status));
    // A call into the native code costs more than the bytes: shared headers go out as the end of this one's value.
    res.writeHeader('X-Request-Id', request.requestId + lines);
    for (const name in headers) res.writeHeader(name, headers[name]!);
    if (hasNoBody(request, answer)) endWithoutBody(res, answer, closeConnection);
    else if (closeConnection || body.length === 0) res.end(body, closeConnection);
    else endWithBody(res, body);
  });
}

/**
 * What the client does not take is not copied behind what it has not taken yet: the answer stays due until it does, and a request
 * that is sent on behind it meanwhile makes uWebSockets.js cut the connection. Otherwise a few bytes each would fill the memory.
 */
function endWithBody(res: Res, body: string | Uint8Array): void {
  const total = lengthOf(body);
  if (res.tryEnd(body, total)[1]) return;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  res.onAborted(ignoreAbort);
  res.onWritable((offset) => res.tryEnd(bytes.subarray(offset), total)[0]);
}

/**
 * Without a body, but with its length. With the length, the native call waits for as many bytes, which never come: where the
 * connection is to be closed that is as good as any, elsewhere the length is written by hand.
 */
function endWithoutBody(res: Res, { status, body }: HttpAnswer, closeConnection: boolean): void {
  if (closeConnection) {
    // An answer that is not whole needs somebody who watches for an abort, or the process is aborted.
    res.onAborted(ignoreAbort);
    res.endWithoutBody(lengthOf(body), true);
    return;
  }
  if (!isBodiless(status)) res.writeHeader('Content-Length', String(lengthOf(body)));
  res.endWithoutBody();
}

function hasNoBody({ method }: HttpRequest, { status }: HttpAnswer): boolean {
  return method === 'HEAD' || isBodiless(status);
}

const ignoreAbort = (): void => undefined;

function lengthOf(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
}

/** Where the headers of the request being read go: names and values by turns. */
let fields: string[] = [];
const collectField = (name: string, value: string): void => {
  fields.push(name, value);
};

/** Valid until the transport's call returns; `settle` keeps the rest of it. */
export function readRequest(res: Res, req: Req): ReceivedRequest {
  fields = [];
  req.forEach(collectField);
  const search = req.getQuery() as string | undefined;
  return new ReceivedRequest(req.getCaseSensitiveMethod(), req.getUrl(), search ?? '', fields, () =>
    addressDecoder.decode(res.getRemoteAddressAsText()),
  );
}

/** What the headers say of where a request ends. */
type Framing = 'no_body' | 'body' | 'too_large' | 'ambiguous';

function framingOf(request: ReceivedRequest): Framing {
  const declared = request.header('content-length');
  const coding = request.header('transfer-encoding');
  if (declared === undefined && coding === undefined) return 'no_body';
  // Two lengths are two readings of where the next request begins, and an empty one is read as none.
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
      // The answer waits for a turn of the loop: while it is due, a request hidden behind this one makes uWebSockets.js cut the
      // connection; after it, the connection is closed.
      const responder = new Responder(res, request, serving);
      request.settle();
      setImmediate(() => void Promise.resolve(serving.handlers.malformed(request)).then((answer) => responder.end(answer, true)));
      return;
    }
    case 'body':
      readBody(res, request, serving);
  }
}

function readBody(res: Res, request: ReceivedRequest, serving: HttpServing): void {
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
      // The bytes are the native side's again when this returns.
      if (chunk.byteLength > 0) chunks.push(Buffer.from(Buffer.from(chunk)));
      if (isLast) answerLater(responder, request, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), serving);
    }
  });
}

/** Within the call of the transport: an answer that is there at once needs nobody who watches for an abort. */
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

/** What was not read still comes: the connection is of no more use after `too_large`. */
function answerLater(responder: Responder, request: HttpRequest, body: ReceivedBody, serving: HttpServing): void {
  const outcome = ask(request, body, serving);
  if (outcome instanceof Promise) void outcome.then((answer) => responder.end(answer, body === 'too_large'));
  else responder.end(outcome, body === 'too_large');
}

/** Never throws nor rejects. */
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
