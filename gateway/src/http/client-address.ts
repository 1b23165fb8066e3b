import { BlockList, isIP } from 'node:net';

/** Addresses in one `X-Forwarded-For` that are looked at. */
const maxHops = 32;

/** An address as it is compared: without brackets, port and zone, an IPv4 one in IPv6 as IPv4. Null where it is none. */
function plainAddress(text: string): string | null {
  let address = text.trim();
  const bracketed = /^\[([^\]]+)\](:\d+)?$/.exec(address);
  if (bracketed !== null) address = bracketed[1]!;
  else if (/^[\d.]+:\d+$/.test(address)) address = address.slice(0, address.lastIndexOf(':'));
  const zone = address.indexOf('%');
  if (zone !== -1) address = address.slice(0, zone);
  const mapped = /^(?:::ffff:|(?:0{1,4}:){5}ffff:)(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(address);
  if (mapped !== null) address = mapped[1] ?? dotted(mapped[2]!, mapped[3]!);
  return isIP(address) === 0 ? null : address;
}

function dotted(high: string, low: string): string {
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}

/**
 * Who calls: the peer of the connection or, where that is a proxy of `trustedProxies` (addresses or CIDR), the rightmost
 * address of `X-Forwarded-For` that is none of them. Addresses to the left of it were written by strangers.
 */
export function clientAddressOf(
  trustedProxies: readonly string[],
): (remoteAddress: string, forwardedFor: () => string | undefined) => string {
  const trusted = new BlockList();
  for (const range of trustedProxies) {
    const [address = '', prefix] = range.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(prefix), family);
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return (remoteAddress, forwardedFor) => {
    let client = plainAddress(remoteAddress) ?? remoteAddress;
    if (trustedProxies.length === 0 || !isTrusted(client)) return client;
    const hops = forwardedFor()?.split(',').slice(-maxHops) ?? [];
    for (let i = hops.length - 1; i >= 0; i--) {
      const hop = plainAddress(hops[i]!);
      // What is no address was not written by a proxy that is trusted: what comes before it is nobody's word.
      if (hop === null) return client;
      client = hop;
      if (!isTrusted(hop)) return client;
    }
    return client;
  };
}
