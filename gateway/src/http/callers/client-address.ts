import { isIP } from 'node:net';
import { compileRanges, familyOf } from '../../auth/ip-ranges.ts';

/** Maximum number of addresses in one `X-Forwarded-For` that are read. */
const maxHops = 32;

/** An address for comparison: without brackets, port and zone; an IPv4 address in IPv6 as IPv4. Null if the text is not an address. */
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
 * Finds the address of the client: the peer of the connection, or, if that is one of `trustedProxies` (addresses or CIDR), the rightmost
 * address in `X-Forwarded-For` that is not one of them. Addresses to the left of it cannot be trusted, because the client may have sent them.
 */
export function clientAddressOf(
  trustedProxies: readonly string[],
): (remoteAddress: string, forwardedFor: () => string | undefined) => string {
  const trusted = compileRanges(trustedProxies);
  const isTrusted = (address: string): boolean => trusted.check(address, familyOf(address));
  return (remoteAddress, forwardedFor) => {
    let client = plainAddress(remoteAddress) ?? remoteAddress;
    if (trustedProxies.length === 0 || !isTrusted(client)) return client;
    const hops = forwardedFor()?.split(',').slice(-maxHops) ?? [];
    for (let i = hops.length - 1; i >= 0; i--) {
      const hop = plainAddress(hops[i]!);
      // A trusted proxy writes addresses only, so this text and everything to its left cannot be trusted.
      if (hop === null) return client;
      client = hop;
      if (!isTrusted(hop)) return client;
    }
    return client;
  };
}
