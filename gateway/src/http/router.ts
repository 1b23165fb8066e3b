import { transportLimits, type HttpAnswer, type HttpRequest } from '../transport/transport.ts';
import { commonHeaders, errorAnswer, pageAnswer } from './answers.ts';

export type RouteHandler = (request: HttpRequest, body: Uint8Array) => HttpAnswer | Promise<HttpAnswer>;

/** One method at one exact path. HEAD and OPTIONS are answered by the router. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly handler: RouteHandler;
}

/** A page or file whose content and headers are known at the start. */
export function staticPage(path: string, headers: Readonly<Record<string, string>>, body: string | Uint8Array): Route {
  return { method: 'GET', path, handler: (request) => pageAnswer(request, headers, body) };
}

/** The same route at `/x` and at `/api/x`. */
export function bothForms(route: Route): Route[] {
  return [route, { ...route, path: `/api${route.path}` }];
}

/** Finds the route of a request; 404, 405, HEAD and OPTIONS are settled here. Throws at start where two routes are the same. */
export function createRouter(routes: readonly Route[]): RouteHandler {
  const paths = new Map<string, Map<string, RouteHandler>>();
  for (const { method, path, handler } of routes) {
    const methods = paths.get(path) ?? new Map<string, RouteHandler>();
    if (methods.has(method)) throw new Error(`two routes for ${method} ${path}`);
    paths.set(path, methods.set(method, handler));
  }
  return (request, body) => {
    if (request.urlChars > transportLimits.urlChars) return errorAnswer(request, 'INVALID_REQUEST', 'The URL is too long.');
    const methods = paths.get(request.path);
    if (methods === undefined) return errorAnswer(request, 'NOT_FOUND');
    const allow = [...methods.keys(), ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
    if (request.method === 'OPTIONS') return { status: 204, headers: { ...commonHeaders(request), Allow: allow }, body: '' };
    const handler = methods.get(request.method === 'HEAD' ? 'GET' : request.method);
    return handler === undefined
      ? errorAnswer(request, 'METHOD_NOT_ALLOWED', undefined, undefined, { Allow: allow })
      : handler(request, body);
  };
}
