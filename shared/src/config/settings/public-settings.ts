import { isIP } from 'node:net';
import { isLoopback } from '../loopback.ts';
import { inQuotes, isHost, type SettingReader } from '../setting-reader.ts';
import type { SettingName } from './settings-table.ts';

/** Reads the names in the form in which `hostCheck` compares them. `*` must be the only one. */
export function readAllowedHosts(read: SettingReader): readonly string[] {
  const entries = read.list('ALLOWED_HOSTS');
  if (entries.includes('*')) {
    if (entries.length > 1) read.fault('ALLOWED_HOSTS', 'has `*`, which means any name, together with other names. Use one or the other');
    return ['*'];
  }
  for (const entry of entries) {
    const form = 'is not a host name or an address. Write it without scheme and port, as in sluice.example.com';
    if (!isHost(entry)) read.fault('ALLOWED_HOSTS', `${inQuotes(entry)} ${form}`);
  }
  return entries.map((entry) => entry.toLowerCase().replace(/\.$/, ''));
}

/** Reads the origins in the form in which browsers send them. `*` must be the only one. */
export function readCorsOrigins(read: SettingReader): readonly string[] {
  const entries = read.list('CORS_ORIGINS');
  if (entries.includes('*')) {
    if (entries.length > 1)
      read.fault('CORS_ORIGINS', 'has `*`, which means any origin, together with other origins. Use one or the other');
    return ['*'];
  }
  return entries.map((entry) => originOf('CORS_ORIGINS', entry, read) ?? entry);
}

export function readTrustedProxies(read: SettingReader): readonly string[] {
  const entries = read.list('TRUSTED_PROXIES');
  for (const entry of entries) {
    if (!isCidr(entry)) read.fault('TRUSTED_PROXIES', `${inQuotes(entry)} is neither an address nor a range like 10.0.0.0/8`);
    // Every client could then claim any address.
    else if (entry.endsWith('/0')) read.fault('TRUSTED_PROXIES', `${inQuotes(entry)} trusts every address`);
  }
  return entries;
}

/** PUBLIC_URL, or the URL of the listener if only this machine can reach it and its port is fixed. */
export function readPublicUrl(
  { host, port, tls }: { readonly host: string; readonly port: number; readonly tls: object | null },
  read: SettingReader,
): string | null {
  const text = read.get('PUBLIC_URL');
  if (text !== null) return originOf('PUBLIC_URL', text, read);
  if (!isLoopback(host) || port === 0) return null;
  const url = `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  // A wrong HOST or PORT is reported separately.
  return URL.canParse(url) ? new URL(url).origin : null;
}

function originOf(name: SettingName, text: string, read: SettingReader): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    read.fault(name, `${inQuotes(text)} is not an origin of the form https://host or https://host:port`);
    return null;
  }
  // The text after the host may be a password or a token, so the message does not repeat it.
  if (url.username !== '' || url.password !== '' || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    read.fault(name, `must be only a scheme, a host and a port: ${url.origin}`);
    return null;
  }
  return url.origin;
}

/** Whether a text is an IPv4 or IPv6 address, or a range of them with its prefix length: `10.0.0.0/8`, `2001:db8::/32`. */
function isCidr(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  // A zone (`fe80::1%eth0`) names an interface of one machine.
  if (family === 0 || more.length > 0 || address.includes('%')) return false;
  if (prefix === undefined) return true;
  return /^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}
