import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import type { Principal } from '../auth/principal.ts';
import type { HttpAnswer, HttpRequest, ReceivedBody } from '../transport/transport.ts';
import { commonLines, errorAnswer, jsonLines } from './answers.ts';
import { bodyCheck } from './body.ts';
import type { Caller, Callers } from './callers.ts';
import { pathCheck, queryCheck } from './checks.ts';
import { deprecationHeaders } from './deprecation.ts';
import type { BoundEndpoint, Call, EndpointAnswer } from './endpoint.ts';

type Spec = EndpointSpec;
type Answer = EndpointAnswer<Spec>;
type Fault = Extract<Answer, { error: ErrorCode }>;
export type RunEndpoint = (request: HttpRequest, segments: readonly string[], body: ReceivedBody) => HttpAnswer | Promise<HttpAnswer>;

export interface RunOptions {
  readonly callers: Callers;
  /** Headers of every answer to this caller: its limit, CORS. */
  readonly headersOf: (request: HttpRequest, caller: Caller) => Readonly<Record<string, string>>;
  readonly log: Logger;
}

/**
 * An endpoint with everything that stands between a request and its handler: who calls, what is left to the key, scope and
 * plan, the forms of path, query and body. Never throws; makes no promise where nothing has to wait.
 */
export function prepareEndpoint({ spec, handler }: BoundEndpoint, { callers, headersOf, log }: RunOptions): RunEndpoint {
  const checkPath = pathCheck(spec);
  const checkQuery = queryCheck(spec);
  const checkBody = bodyCheck(spec.body);
  const deprecation = deprecationHeaders(spec);
  const isOpen = spec.access === 'open';

  const readCall = (
    request: HttpRequest,
    segments: readonly string[],
    body: ReceivedBody,
    principal: Principal | null,
  ): Call<Spec> | Fault => {
    const read = checkBody(request, body);
    if (!read.ok) return read;
    const params = checkPath(segments);
    const query = checkQuery(request.query);
    if (!params.ok || !query.ok) {
      const fields = { ...(params.ok ? {} : params.fields), ...(query.ok ? {} : query.fields) };
      return { error: 'INVALID_REQUEST', details: { fields } };
    }
    return { request, params: params.value, query: query.value, body: read.value, principal: isOpen ? null : principal };
  };

  const answerTo = (request: HttpRequest, segments: readonly string[], body: ReceivedBody, caller: Caller): Answer | Promise<Answer> => {
    const refusal = isOpen ? null : refusalOf(spec, caller);
    if (refusal !== null) return refusal;
    const call = readCall(request, segments, body, caller.principal);
    return 'error' in call ? call : handler(call);
  };

  return (request, segments, body) => {
    const render = (caller: Caller, answer: Answer): HttpAnswer =>
      httpAnswer(request, answer, { ...headersOf(request, caller), ...deprecation });
    const fault = (caller: Caller, error: unknown): HttpAnswer => {
      log.error({ err: error, requestId: request.requestId, endpoint: spec.id }, 'http_handler_failed');
      return render(caller, { error: 'INTERNAL' });
    };
    const serve = (caller: Caller): HttpAnswer | Promise<HttpAnswer> => {
      try {
        const answer = answerTo(request, segments, body, caller);
        if (!(answer instanceof Promise)) return render(caller, answer);
        return answer.then((made) => render(caller, made)).catch((error: unknown) => fault(caller, error));
      } catch (error) {
        return fault(caller, error);
      }
    };
    const caller = callers.identify(request, isOpen ? 0 : 1);
    return caller instanceof Promise ? caller.then(serve) : serve(caller);
  };
}

/** What keeps a caller from an endpoint that is not open; null where nothing does. */
function refusalOf(spec: Spec, { principal, refusal, decision }: Caller): Fault | null {
  if (principal === null) return { error: 'UNAUTHENTICATED' };
  if (refusal !== null) return refusal;
  const { access, id } = spec;
  if (access !== 'key' && access !== 'open' && !principal.scopes.includes(access)) {
    return { error: 'FORBIDDEN', message: `The key has not the scope \`${access}\`.`, details: { scope: access } };
  }
  const { name, withoutEndpoints } = principal.plan;
  if (withoutEndpoints.includes(id)) {
    return { error: 'FORBIDDEN', message: `The plan ${name} does not reach this endpoint.`, details: { plan: name, endpoint: id } };
  }
  // What a key may spend is not admitted on a guess.
  if (access === 'trade' && decision?.counted === 'local') {
    return {
      error: 'UPSTREAM_UNAVAILABLE',
      message: 'The limits of keys cannot be counted, and nothing that can spend is admitted uncounted.',
    };
  }
  return null;
}

function httpAnswer(request: HttpRequest, answer: Answer, headers: Readonly<Record<string, string>>): HttpAnswer {
  if ('error' in answer) {
    const retry: Record<string, string> = answer.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(answer.retryAfterSeconds) };
    return errorAnswer(request, answer.error, answer.message, answer.details, { ...headers, ...retry });
  }
  if ('file' in answer) {
    const { file } = answer;
    return {
      status: 200,
      lines: commonLines,
      headers: { 'Cache-Control': 'no-store', ...headers, 'Content-Type': file.contentType, ...file.headers },
      body: file.body,
    };
  }
  return {
    status: 200,
    lines: jsonLines,
    headers,
    body: 'json' in answer ? JSON.stringify(answer.json) : answer.jsonBytes,
  };
}
