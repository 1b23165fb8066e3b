import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import type { HttpAnswer, HttpRequest, ReceivedBody } from '../transport/transport.ts';
import { missingEndpoint, missingLists } from '../auth/plan-features.ts';
import { commonLines, jsonLines, linesOf, refusalAnswer, type Refusal } from './answers.ts';
import { bodyCheck } from './body/body.ts';
import type { Caller, CountMore, IdentifyCaller } from './callers/callers.ts';
import { pathCheck, queryCheck } from './callers/checks.ts';
import { compressAnswer, mayCompress } from './body/content-coding.ts';
import type { RouterOptions } from './router.ts';
import type { BoundEndpoint, Call, EndpointAnswer } from './endpoint.ts';

type Spec = EndpointSpec;
type Answer = EndpointAnswer<Spec>;
/** `segments`: the undecoded parameters in the path. Never throws. Returns a promise only if it must wait. */
export type RunEndpoint = (request: HttpRequest, segments: readonly string[], body: ReceivedBody) => HttpAnswer | Promise<HttpAnswer>;

interface RunOptions extends Pick<RouterOptions, 'admitKeyless' | 'browserPages' | 'log'> {
  readonly identify: IdentifyCaller;
  readonly countMore: CountMore;
  /** Header lines of every answer to this caller: the limit of its key, CORS. */
  readonly callerLines: (request: HttpRequest, caller: Caller) => string;
}

/** What all requests of an endpoint share. */
function prepare({ spec, handler }: BoundEndpoint, { admitKeyless, browserPages }: RunOptions) {
  const deprecation = deprecationLines(spec);
  return {
    spec,
    handler,
    browserPages,
    isOpen: spec.access === 'open',
    /** Null: it needs a key. */
    admitKeyless: spec.keyless === true ? admitKeyless : null,
    checkPath: pathCheck(spec),
    checkQuery: queryCheck(spec),
    checkBody: bodyCheck(spec),
    deprecation,
    mayCompress: mayCompress(spec),
    /** Header lines of answers in JSON, the same for all callers. */
    lines: jsonLines + deprecation + (mayCompress(spec) ? varyLine : ''),
  };
}
type Prepared = ReturnType<typeof prepare>;

/**
 * Wraps the handler of an endpoint with all checks: the caller, the limit of its key, scope and plan, and the schemas of path, query and
 * body.
 */
export function prepareEndpoint(bound: BoundEndpoint, options: RunOptions): RunEndpoint {
  const { identify, countMore, callerLines, log } = options;
  const endpoint = prepare(bound, options);
  const { spec, isOpen } = endpoint;
  const fault = (request: HttpRequest, caller: Caller, error: unknown): HttpAnswer => {
    log.error({ err: error, requestId: request.requestId, endpoint: spec.id }, 'http_handler_failed');
    return render(endpoint, request, { error: 'INTERNAL' }, callerLines(request, caller));
  };
  const send = (request: HttpRequest, caller: Caller, answer: Answer): HttpAnswer | Promise<HttpAnswer> => {
    const rendered = render(endpoint, request, answer, callerLines(request, caller));
    return endpoint.mayCompress ? compressAnswer(request, rendered) : rendered;
  };
  const run = (request: HttpRequest, caller: Caller, call: Call<Spec>): HttpAnswer | Promise<HttpAnswer> => {
    const answer = endpoint.handler(call);
    if (!(answer instanceof Promise)) return send(request, caller, answer);
    return answer.then((made) => send(request, caller, made)).catch((error: unknown) => fault(request, caller, error));
  };
  const runCounted = (request: HttpRequest, caller: Caller, call: Call<Spec>): HttpAnswer | Promise<HttpAnswer> => {
    const refusal = refusalOf(endpoint, request, caller);
    return refusal === null ? run(request, caller, call) : send(request, caller, refusal);
  };
  const serve = (request: HttpRequest, segments: readonly string[], body: ReceivedBody, caller: Caller) => {
    try {
      const call = acceptedCall(endpoint, request, segments, body, caller);
      if ('error' in call) return send(request, caller, call);
      const more = requestsOf(spec, call) - 1;
      if (more === 0) return run(request, caller, call);
      const counted = countMore(caller, more);
      return counted instanceof Promise
        ? counted.then((all) => runCounted(request, all, call)).catch((error: unknown) => fault(request, caller, error))
        : runCounted(request, counted, call);
    } catch (error) {
      return fault(request, caller, error);
    }
  };
  const cost = { cost: isOpen ? 0 : 1, pageQuota: spec.pageQuota } as const;
  return (request, segments, body) => {
    const caller = identify(request, cost, !isOpen);
    return caller instanceof Promise
      ? caller.then((found) => serve(request, segments, body, found))
      : serve(request, segments, body, caller);
  };
}

/** The answer depends on what the client accepts. */
const varyLine = linesOf({ Vary: 'Accept-Encoding' });

function acceptedCall(
  endpoint: Prepared,
  request: HttpRequest,
  segments: readonly string[],
  body: ReceivedBody,
  caller: Caller,
): Call<Spec> | Refusal {
  const refusal = endpoint.isOpen ? null : refusalOf(endpoint, request, caller);
  return refusal ?? readCall(endpoint, request, segments, body, caller);
}

/** As how many requests a call counts. */
function requestsOf({ countsEach }: Spec, { body }: Call<Spec>): number {
  const list: unknown = countsEach === undefined ? null : body[countsEach];
  return Array.isArray(list) ? Math.max(list.length, 1) : 1;
}

/** Why a caller may not use an endpoint that is not open; null if it may. */
function refusalOf({ spec, admitKeyless }: Prepared, request: HttpRequest, { principal, refusal, decision }: Caller): Refusal | null {
  if (principal === null && refusal !== null) return refusal;
  if (principal === null) return admitKeyless === null ? { error: 'UNAUTHENTICATED' } : admitKeyless(request);
  const { access, id } = spec;
  if (refusal !== null) return refusal;
  if (access !== 'key' && access !== 'open' && !principal.scopes.includes(access)) {
    return { error: 'FORBIDDEN', message: `The key lacks the scope \`${access}\`.`, details: { scope: access } };
  }
  const missing = missingEndpoint(principal, id);
  if (missing !== null) return { error: 'FORBIDDEN', ...missing };
  // Requests that can spend must be counted exactly.
  if (access === 'trade' && decision?.counted === 'local') {
    const message = 'Requests cannot be counted on all gateways at present. Requests that can spend are refused meanwhile.';
    return { error: 'UPSTREAM_UNAVAILABLE', message };
  }
  return null;
}

function readCall(
  { isOpen, checkBody, checkPath, checkQuery }: Prepared,
  request: HttpRequest,
  segments: readonly string[],
  received: ReceivedBody,
  { principal }: Caller,
): Call<Spec> | Refusal {
  const body = checkBody(request, received);
  if (!body.ok) return body;
  const missing = principal !== null && Array.isArray(body.value) ? missingLists(principal) : null;
  if (missing !== null) return { error: 'FORBIDDEN', ...missing };
  const params = checkPath(segments);
  const query = checkQuery(request);
  if (!params.ok || !query.ok) {
    const fields = { ...(params.ok ? {} : params.fields), ...(query.ok ? {} : query.fields) };
    return { error: 'INVALID_REQUEST', details: { fields } };
  }
  return { request, params: params.value, query: query.value, body: body.value, principal: isOpen ? null : principal };
}

function render(endpoint: Prepared, request: HttpRequest, answer: Answer, callerLines: string): HttpAnswer {
  if ('jsonBytes' in answer) return { status: 200, lines: endpoint.lines + callerLines, headers: {}, body: answer.jsonBytes };
  if ('json' in answer) {
    const { json, headers = {} } = answer;
    return { status: 200, lines: endpoint.lines + callerLines, headers, body: JSON.stringify(json) };
  }
  const lines = endpoint.deprecation + callerLines;
  if ('file' in answer) {
    const { contentType, body, headers } = answer.file;
    const all = { 'Cache-Control': 'no-store', ...headers, 'Content-Type': contentType };
    if (isUnchanged(request, headers)) return { status: 304, lines: commonLines + lines, headers, body: '' };
    return { status: 200, lines: commonLines + lines, headers: all, body };
  }
  // A page of the documentation that does not exist.
  const page = answer.error === 'NOT_FOUND' && endpoint.isOpen ? endpoint.browserPages.missing(request) : null;
  if (page !== null) return page;
  const made = refusalAnswer(request, answer, endpoint.spec.dialect === true);
  return { ...made, lines: made.lines + lines };
}

/** Whether the client already has these bytes: it sent the tag of this answer (RFC 9110, section 13.1.2). */
function isUnchanged(request: HttpRequest, { ETag: tag }: Readonly<Record<string, string>>): boolean {
  const known = request.headers.get('if-none-match');
  if (tag === undefined || known === undefined) return false;
  return known.split(',').some((one) => one.trim() === '*' || opaque(one.trim()) === opaque(tag));
}

/** A tag without the mark of a weak one. */
function opaque(tag: string): string {
  return tag.replace(/^W\//, '');
}

const unixSeconds = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1000;

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and the successor (RFC 5829) of a deprecated endpoint, as header lines. */
function deprecationLines({ deprecated }: EndpointSpec): string {
  if (deprecated === undefined) return '';
  const { since, sunset, successor } = deprecated;
  return linesOf({
    Deprecation: `@${unixSeconds(since)}`,
    Sunset: new Date(unixSeconds(sunset) * 1000).toUTCString(),
    ...(successor === null ? {} : { Link: `<${successor}>; rel="successor-version"` }),
  });
}
