import type { Config } from '@sluice/shared/config/config.ts';
import { hostCheck, isLoopback, nameOfHost } from '@sluice/shared/config/loopback.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { HttpAnswer, HttpRequest } from '../../transport/transport.ts';
import { errorAnswer } from '../answers.ts';
import { apiKeyOf, offeredCredentials } from './credentials.ts';

/** The answer that refuses a request of a page that is not ours; null if it is served. */
export type RefuseForeign = (request: HttpRequest) => HttpAnswer | null;

const foreignHost =
  'The Host header does not name this gateway. If clients reach the gateway under this name, add the name to ALLOWED_HOSTS, or set PUBLIC_URL.';
const foreignOrigin =
  'Pages of this origin may not use the gateway without an API key. CORS_ORIGINS lists the origins that may. PUBLIC_URL sets the origin of the gateway itself.';

/**
 * Refuses pages of other sites on a listener that serves everybody on its machine. `Host` must name this gateway (see `hostCheck`). On a
 * loopback listener, a request without a credential must also come from a page of this gateway, a page in CORS_ORIGINS, or a program. Browsers
 * send `Origin` with every handshake of a WebSocket, and with every request of a page to another origin whose answer the page may read.
 */
export function foreignPages(config: Pick<Config, 'host' | 'publicUrl' | 'allowedHosts' | 'corsOrigins'>, log: Logger): RefuseForeign {
  const { host: listener, publicUrl, corsOrigins } = config;
  const isLocal = isLoopback(listener);
  const isOwnHost = hostCheck(listener, allowedNames(config));
  const origins = new Set([...corsOrigins, ...(publicUrl === null ? [] : [publicUrl])]);
  const isOurs = (origin: string, host: string | undefined): boolean =>
    origins.has('*') || origins.has(origin) || hostOf(origin) === host?.toLowerCase();
  const logged = new Set<string>();
  const refuse = (request: HttpRequest, header: string, message: string): HttpAnswer => {
    // Once, because anybody can cause it. Without the value, which may be a secret in the wrong place.
    if (!logged.has(header)) log.warn({ header, message }, 'foreign_page_refused');
    logged.add(header);
    return errorAnswer(request, 'FORBIDDEN', message);
  };
  return (request) => {
    const host = request.header('host');
    if (!isOwnHost(host)) return refuse(request, 'Host', foreignHost);
    const origin = isLocal ? request.header('origin') : undefined;
    // A preflight has no credential by design, and its answer is the same for all origins that are not in CORS_ORIGINS.
    if (origin === undefined || request.method === 'OPTIONS' || isOurs(origin, host) || hasCredential(request)) return null;
    return refuse(request, 'Origin', foreignOrigin);
  };
}

function allowedNames({ host, publicUrl, allowedHosts }: Pick<Config, 'host' | 'publicUrl' | 'allowedHosts'>): readonly string[] {
  const name = publicUrl === null ? null : nameOfHost(new URL(publicUrl).host);
  // PUBLIC_URL alone must not close a listener that accepts every name.
  return name === null || (!isLoopback(host) && allowedHosts.length === 0) ? allowedHosts : [...allowedHosts, name];
}

/** The `Host` of requests to an origin; null if the text is not an origin. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

/** The routes of the dashboard ignore keys. They check the origin themselves, because they use the cookie of a session. */
function hasCredential(request: HttpRequest): boolean {
  return (apiKeyOf(request) ?? '') !== '' || (request.query.get('ticket') ?? '') !== '' || offeredCredentials(request).length > 0;
}
