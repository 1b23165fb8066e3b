import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { ErrorCode } from '@sluice/shared/wire/errors.ts';
import { transportLimits, type HttpAnswer, type HttpRequest, type ReceivedBody } from '../transport/transport.ts';
import { commonLines, errorAnswer, refusalAnswer } from './answers.ts';
import { createCallers, createCountMore, type Caller, type CallerOptions } from './callers/callers.ts';
import { pumpPortalAdvice } from '@sluice/shared/wire/rest/trading/pumpportal.ts';
import { corsPolicy } from './headers/cors.ts';
import type { BoundEndpoint } from './endpoint.ts';
import type { AdmitKeyless } from './callers/keyless.ts';
import { PathTable } from './path-table.ts';
import { rateLines } from './headers/rate-headers.ts';
import { prepareEndpoint, type RunEndpoint } from './run-endpoint.ts';

/** `segments`: the undecoded values of the parameters in the path. */
export type RouteHandler = (request: HttpRequest, body: Uint8Array, segments: readonly string[]) => HttpAnswer | Promise<HttpAnswer>;

/** One method at one path, which may have parameters (`{id}`), for everything outside the API: pages, and what only our own pages call. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly handler: RouteHandler;
}

/** Answers for browsers, in place of those for programs. */
export interface BrowserPages {
  /** Null: the address has no page. The function returns null for a program. */
  insteadOf(path: string): ((request: HttpRequest) => HttpAnswer | null) | null;
  /** For an address that does not exist; null for a program. */
  missing(request: HttpRequest): HttpAnswer | null;
}

export interface RouterOptions extends CallerOptions {
  readonly routes: readonly Route[];
  readonly endpoints: readonly BoundEndpoint[];
  readonly browserPages: BrowserPages;
  /** Paths of the WebSocket. A GET there without an upgrade gets an error. */
  readonly streamPaths: readonly string[];
  /** Serves requests without a key at endpoints that need none; null: all need one. */
  readonly admitKeyless: AdmitKeyless | null;
  /** Origins whose pages may call the endpoints; `*`: any. */
  readonly corsOrigins: readonly string[];
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Logger;
}

/** Answers every request. It never rejects because of a client's input. */
export interface Router {
  http(request: HttpRequest, body: ReceivedBody): HttpAnswer | Promise<HttpAnswer>;
  /** Answers a request whose end is ambiguous. */
  malformed(request: HttpRequest): HttpAnswer | Promise<HttpAnswer>;
}

interface Place {
  readonly methods: Map<string, RunEndpoint>;
  /** Pages of other origins may call it, and requests are counted for the key. */
  readonly isPublic: boolean;
}

/** Our own pages use sessions: no key is accepted there, and no other origin may call. */
const isPrivate = (path: string): boolean => path === '/' || path === '/dashboard' || path.startsWith('/dashboard/');

/** Finds the route of a path, and answers 404, 405, HEAD and OPTIONS. Throws at the start if two routes have one path. */
export function createRouter(options: RouterOptions): Router {
  const { corsOrigins, admitKeyless, browserPages, clock, log } = options;
  const identify = createCallers(options);
  const countMore = createCountMore(options);
  const cors = corsPolicy(corsOrigins);
  const callerLines = (request: HttpRequest, { principal, decision }: Caller): string => {
    const lines = cors.onAnswer(request);
    return principal === null || decision === null ? lines : lines + rateLines(principal.plan, decision, clock.wallMs());
  };
  /** An answer that is the same for all callers. If a key is sent, the request is counted, and the answer reports what is left. */
  const forAll = (request: HttpRequest, cost: 0 | 1, make: () => HttpAnswer): HttpAnswer | Promise<HttpAnswer> => {
    const answer = (caller: Caller): HttpAnswer => {
      const made = caller.refusal?.error === 'RATE_LIMIT' ? refusalAnswer(request, caller.refusal) : make();
      return { ...made, lines: made.lines + callerLines(request, caller) };
    };
    const caller = identify(request, { cost }, false);
    return caller instanceof Promise ? caller.then(answer) : answer(caller);
  };
  const refuse = (request: HttpRequest, code: ErrorCode, message?: string, headers?: Readonly<Record<string, string>>) => {
    const { path } = request;
    const advice = pumpPortalAdvice.get(path.endsWith('/') ? path.slice(0, -1) : path);
    const page = code === 'NOT_FOUND' ? browserPages.missing(request) : null;
    const make = (): HttpAnswer => page ?? errorAnswer(request, code, message ?? advice, undefined, headers, advice !== undefined);
    return isPrivate(request.path) ? make() : forAll(request, 1, make);
  };
  const places = placesOf(options, {
    endpoint: (bound) => prepareEndpoint(bound, { identify, countMore, admitKeyless, callerLines, browserPages, log }),
    stream: (request) => refuse(request, 'INVALID_REQUEST', 'This path is a WebSocket. Send an upgrade request.'),
  });

  return {
    http: (request, body) => {
      if (request.urlChars > transportLimits.urlChars) return refuse(request, 'INVALID_REQUEST', 'The URL is too long.');
      const found = places.find(request.path);
      if (found === null) return refuse(request, 'NOT_FOUND');
      const { methods, isPublic } = found.value;
      const run = methods.get(request.method === 'HEAD' ? 'GET' : request.method);
      if (run !== undefined) return run(request, found.segments, body);
      const allow = [...methods.keys(), ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
      if (request.method !== 'OPTIONS') return refuse(request, 'METHOD_NOT_ALLOWED', undefined, { Allow: allow });
      const noContent = (lines: string): HttpAnswer => ({ status: 204, lines, headers: { Allow: allow }, body: '' });
      return isPublic ? forAll(request, 0, () => noContent(commonLines + cors.onPreflight(request, allow))) : noContent(commonLines);
    },
    malformed: (request) => refuse(request, 'INVALID_REQUEST', 'The request is malformed, or its length is ambiguous.'),
  };
}

function placesOf(
  { routes, endpoints, streamPaths, browserPages }: RouterOptions,
  runners: { readonly endpoint: (bound: BoundEndpoint) => RunEndpoint; readonly stream: RunEndpoint },
): PathTable<Place> {
  const places = new PathTable<Place>();
  const put = (method: string, path: string, isPublic: boolean, run: RunEndpoint): void => {
    const { methods } = places.at(path, () => ({ methods: new Map(), isPublic }));
    if (methods.has(method)) throw new Error(`${method} ${path} is registered twice`);
    methods.set(method, run);
  };
  for (const { method, path, handler } of routes) {
    put(method, path, false, (request, segments, body) =>
      body === 'too_large' ? errorAnswer(request, 'PAYLOAD_TOO_LARGE') : handler(request, body, segments),
    );
  }
  for (const path of streamPaths) put('GET', path, true, runners.stream);
  for (const bound of endpoints) {
    const { method, path, withApiPrefix } = bound.spec;
    if (isPrivate(path)) throw new Error(`${path}: an endpoint of the API must not be under the path of our own pages`);
    const run = runners.endpoint(bound);
    const page = browserPages.insteadOf(path);
    put(method, path, true, page === null ? run : (request, segments, body) => page(request) ?? run(request, segments, body));
    if (withApiPrefix) put(method, `/api${path}`, true, run);
  }
  return places;
}
