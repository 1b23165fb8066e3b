import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublicAddress } from './public-address.ts';

/** What may be requested, and how names are resolved. */
export interface FetchRules {
  /** All addresses of a host; empty if it has none. Every one of them must be allowed. Never rejects. */
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
  allowsAddress(address: string): boolean;
  allowsPort(port: number): boolean;
}

const resolverTimeoutMs = 1_500;
const resolverTries = 2;

/** The public internet, on the ports of the web. Names are resolved by DNS alone, never from this machine's own files. */
export const internetRules: FetchRules = {
  resolve: resolveByDns,
  allowsAddress: isPublicAddress,
  allowsPort: (port) => port === 80 || port === 443,
};

async function resolveByDns(host: string, signal: AbortSignal): Promise<readonly string[]> {
  // One resolver for each call, so that each can be cancelled alone.
  const resolver = new Resolver({ timeout: resolverTimeoutMs, tries: resolverTries });
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const families = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** Names that are not public hosts, by their last labels (RFC 6761, RFC 6762, RFC 8375, RFC 9476, ICANN). They are never looked up. */
const specialNames =
  /(^|\.)(local|localhost|localdomain|internal|intranet|private|corp|home|lan|invalid|test|example|onion|alt|arpa|example\.(com|net|org))$/;
const hostName = /^(?=.{4,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** A host as written in a URL: an address, or a name to resolve; null if it is neither, or may never be contacted. */
export function hostOf(url: URL): { readonly address: string } | { readonly name: string } | null {
  // `URL` has normalized every form of an IPv4 address (octal, hexadecimal, one number) to the usual one.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (isIP(host) !== 0) return { address: host };
  return hostName.test(host) && !specialNames.test(host) ? { name: host } : null;
}

/** Whether a URL may be requested at all, before its name is resolved. */
export function allowsUrl(url: URL, rules: FetchRules): boolean {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return false;
  if (url.username !== '' || url.password !== '') return false;
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port);
  if (!rules.allowsPort(port)) return false;
  const host = hostOf(url);
  return host !== null && (!('address' in host) || rules.allowsAddress(host.address));
}
