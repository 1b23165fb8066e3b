import type { Config } from '@sluice/shared/config/config.ts';
import { isLoopback } from '@sluice/shared/config/public-settings.ts';

/** An origin under which the dashboard is served, as browsers send it. */
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
 * Where people sign in. It comes from the settings alone: a `Host` header is the caller's word, and a page that lies about it could
 * pass on what a wallet signed for that page. On the loopback the listener's own address and `localhost` will do. Plain http is
 * taken nowhere else, as a session would travel in the clear. `port`: the one that is listened on.
 */
export function publicOrigins({ host, tls, publicUrl }: Pick<Config, 'host' | 'tls' | 'publicUrl'>, port: number): PublicOrigins {
  const own = isLoopback(host) ? [host.includes(':') ? `[${host}]` : host, 'localhost'] : [];
  const local = own.map((name) => originOf(`${tls === null ? 'http' : 'https'}://${name}:${port}`));
  // PUBLIC_URL that is one of these was derived from HOST and PORT, or says no more than they do.
  if (local.length > 0 && (publicUrl === null || local.some(({ origin }) => origin === publicUrl))) {
    return { ok: true, origins: unique(local), secure: tls !== null };
  }
  if (publicUrl === null)
    return { ok: false, why: 'Signing in is off: PUBLIC_URL does not say under which address this dashboard is reached.' };
  const set = originOf(publicUrl);
  if (!set.secure && !isLoopback(new URL(publicUrl).hostname.replace(/^\[|\]$/g, ''))) {
    return { ok: false, why: 'Signing in is off: PUBLIC_URL is plain http, and a session would travel in the clear. Serve it by https.' };
  }
  return { ok: true, origins: [set], secure: set.secure };
}

function originOf(url: string): PublicOrigin {
  const { origin, host, protocol } = new URL(url);
  return { origin, domain: host, secure: protocol === 'https:' };
}

function unique(origins: readonly PublicOrigin[]): PublicOrigin[] {
  return [...new Map(origins.map((one) => [one.origin, one])).values()];
}
