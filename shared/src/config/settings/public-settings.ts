import { isCidr } from './cidr.ts';
import type { Config } from '../config.ts';
import { listOf, inQuotes, type Fault, type Get } from '../fault.ts';
import { isLoopback } from '../loopback.ts';
import { isHost } from './host-name.ts';
import type { SettingName } from './settings-table.ts';

/** Reads the names in the form in which `hostCheck` compares them. `*` must be the only one. */
export function readAllowedHosts(get: Get, fault: Fault): readonly string[] {
  const entries = listOf('ALLOWED_HOSTS', get, fault);
  if (entries.includes('*')) {
    if (entries.length > 1) fault('ALLOWED_HOSTS', 'has `*`, which means any name, together with other names. Use one or the other');
    return ['*'];
  }
  for (const entry of entries) {
    const form = 'is not a host name or an address. Write it without scheme and port, as in sluice.example.com';
    if (!isHost(entry)) fault('ALLOWED_HOSTS', `${inQuotes(entry)} ${form}`);
  }
  return entries.map((entry) => entry.toLowerCase().replace(/\.$/, ''));
}

/** Reads the origins in the form in which browsers send them. `*` must be the only one. */
export function readCorsOrigins(get: Get, fault: Fault): readonly string[] {
  const entries = listOf('CORS_ORIGINS', get, fault);
  if (entries.includes('*')) {
    if (entries.length > 1) fault('CORS_ORIGINS', 'has `*`, which means any origin, together with other origins. Use one or the other');
    return ['*'];
  }
  return entries.map((entry) => originOf('CORS_ORIGINS', entry, fault) ?? entry);
}

export function readTrustedProxies(get: Get, fault: Fault): readonly string[] {
  const entries = listOf('TRUSTED_PROXIES', get, fault);
  for (const entry of entries) {
    if (!isCidr(entry)) fault('TRUSTED_PROXIES', `${inQuotes(entry)} is neither an address nor a range like 10.0.0.0/8`);
    // Every client could then claim any address.
    else if (entry.endsWith('/0')) fault('TRUSTED_PROXIES', `${inQuotes(entry)} trusts every address`);
  }
  return entries;
}

/** PUBLIC_URL, or the URL of the listener if only this machine can reach it and its port is fixed. */
export function readPublicUrl({ host, port, tls }: Pick<Config, 'host' | 'port' | 'tls'>, get: Get, fault: Fault): string | null {
  const text = get('PUBLIC_URL');
  if (text !== null) return originOf('PUBLIC_URL', text, fault);
  if (!isLoopback(host) || port === 0) return null;
  const url = `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  // A wrong HOST or PORT is reported separately.
  return URL.canParse(url) ? new URL(url).origin : null;
}

function originOf(name: SettingName, text: string, fault: Fault): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    fault(name, `${inQuotes(text)} is not an origin of the form https://host or https://host:port`);
    return null;
  }
  // The text after the host may be a password or a token, so the message does not repeat it.
  if (url.username !== '' || url.password !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    fault(name, `must be only a scheme, a host and a port: ${url.origin}`);
    return null;
  }
  return url.origin;
}
