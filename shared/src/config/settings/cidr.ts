import { isIP } from 'node:net';

/** Whether a text is an IPv4 or IPv6 address, or a range of them with its prefix length: `10.0.0.0/8`, `2001:db8::/32`. */
export function isCidr(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  // A zone (`fe80::1%eth0`) names an interface of one machine.
  if (family === 0 || more.length > 0 || address.includes('%')) return false;
  if (prefix === undefined) return true;
  return /^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}
