import { BlockList, isIP } from 'node:net';

/** IPv4 addresses outside the public internet: IANA's special-purpose registry (RFC 6890 and its updates), multicast, reserved. */
const specialV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** The global unicast space of IPv6. Only addresses in it may be contacted. */
const globalV6 = ['2000::/3'];
/** The parts of it that must not be contacted: protocol assignments (for example Teredo), documentation, 6to4, AS112. */
const specialV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];
/** IPv4 behind a translator (RFC 6052): judged by the IPv4 address in the last 32 bits. */
const nat64 = ['64:ff9b::/96'];

const v4Special = listOf(specialV4, 'ipv4');
const v6Global = listOf(globalV6, 'ipv6');
const v6Special = listOf(specialV6, 'ipv6');
const v6Translated = listOf(nat64, 'ipv6');

function listOf(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/');
    list.addSubnet(network, Number(prefix), family);
  }
  return list;
}

/**
 * Whether an address belongs to the public internet: not private, loopback, link-local (cloud metadata services), shared, multicast,
 * documentation or otherwise special, in any form of IPv6. False if the text is not an address.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !v4Special.check(address, 'ipv4');
    case 6:
      return isPublicV6(address);
    default:
      return false;
  }
}

function isPublicV6(address: string): boolean {
  if (address.includes('%')) return false;
  if (v6Translated.check(address, 'ipv6')) return isPublicAddress(lastV4(address));
  return v6Global.check(address, 'ipv6') && !v6Special.check(address, 'ipv6');
}

/** The last 32 bits of an IPv6 address as IPv4. */
function lastV4(address: string): string {
  // `URL` normalizes every form to groups of hexadecimal digits, never to a dotted tail.
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(':');
  const [high = 0, low = 0] = groups.slice(-2).map((group) => (group === '' ? 0 : Number.parseInt(group, 16)));
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}
