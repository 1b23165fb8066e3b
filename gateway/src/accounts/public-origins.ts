import type { Config } from '@sluice/shared/config/config.ts';
import { isLoopback } from '@sluice/shared/config/loopback.ts';
import type { HttpRequest } from '../transport/transport.ts';

/** A public origin of the dashboard, in the form in which browsers send it. */
export interface PublicOrigin {
  /** `https://sluice.example:8443` */
  readonly origin: string;
  /** `sluice.example:8443`: the domain that a wallet shows and signs. */
  readonly domain: string;
  readonly secure: boolean;
}

export type PublicOrigins =
  | { readonly ok: true; readonly origins: readonly PublicOrigin[]; readonly secure: boolean }
  | { readonly ok: false; readonly why: string };

/**
 * The origins at which signing in works. They come from the settings only. A `Host` header cannot be trusted: an attacker could send a false one, and
 * then sign in here with a message that the wallet signed for the attacker's page. On the loopback, the listener's address and `localhost` are
 * accepted. Anywhere else, plain http is refused, because others could read the session. `port`: the port of the listener.
 */
export function publicOrigins({ host, tls, publicUrl }: Pick<Config, 'host' | 'tls' | 'publicUrl'>, port: number): PublicOrigins {
  const own = new Set(isLoopback(host) ? [host.includes(':') ? `[${host}]` : host, 'localhost'] : []);
  const local = [...own].map((name) => originOf(`${tls === null ? 'http' : 'https'}://${name}:${port}`));
  // If PUBLIC_URL is one of these, it was derived from HOST and PORT, or is equivalent to them.
  if (local.length > 0 && (publicUrl === null || local.some(({ origin }) => origin === publicUrl))) {
    return { ok: true, origins: local, secure: tls !== null };
  }
  if (publicUrl === null)
    return { ok: false, why: 'Signing in is off, because the public URL of this dashboard is unknown. Set PUBLIC_URL.' };
  const configured = originOf(publicUrl);
  if (!configured.secure && !isLoopback(new URL(publicUrl).hostname.replace(/^\[|\]$/g, ''))) {
    return { ok: false, why: 'Signing in is off, because PUBLIC_URL is plain http, and others could read the session. Use https.' };
  }
  return { ok: true, origins: [configured], secure: configured.secure };
}

function originOf(url: string): PublicOrigin {
  const { origin, host, protocol } = new URL(url);
  return { origin, domain: host, secure: protocol === 'https:' };
}

/**
 * Our origin from whose page a changing request comes. Null if it comes from elsewhere, or its origin is unknown. Browsers send both headers,
 * and no page can forge them (Fetch standard; Fetch Metadata).
 */
export function originOfChange(request: HttpRequest, { origins }: PublicOrigins & { readonly ok: true }): PublicOrigin | null {
  const site = request.headers.get('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin') return null;
  const origin = request.headers.get('origin');
  return origins.find((one) => one.origin === origin) ?? null;
}

/** Whether our own page or the address bar sends the request. Programs do not send these headers, and are allowed. */
export function mayRead(request: HttpRequest, origins: PublicOrigins): boolean {
  const site = request.headers.get('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  const origin = request.headers.get('origin');
  return origin === undefined || !origins.ok || origins.origins.some((one) => one.origin === origin);
}
