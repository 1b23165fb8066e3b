import type { HttpRequest } from '../transport/transport.ts';
import type { PublicOrigin, PublicOrigins } from './sign-in/public-origins.ts';

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

/** The addresses whose requests are counted together: one IPv4 address, or the /64 of an IPv6 address, which one client usually has alone. */
export function addressGroup(address: string): string {
  if (!address.includes(':')) return address;
  const [head, tail] = address.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = head ?? [];
  if (tail !== undefined) {
    // An IPv4 address at the end counts as two groups.
    const missing = 8 - groups.length - tail.length - (address.includes('.') ? 1 : 0);
    groups.push(...Array.from({ length: Math.max(0, missing) }, () => '0'), ...tail);
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
