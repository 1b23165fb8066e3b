import { BlockList, isIP } from 'node:net';
import { maxIpRanges } from '@sluice/shared/wire/values/values.ts';

/** Longest text of one range: a full IPv6 address with an embedded IPv4 address, and its prefix. */
const maxRangeLength = 49;

export type IpRangesOutcome =
  | { readonly ok: true; readonly ranges: readonly string[] }
  /** `fault` is the end of a sentence. It gives the place in the list, not the text. */
  | { readonly ok: false; readonly fault: string };

/**
 * Reads ranges: an address, or `10.0.0.0/8`, `2001:db8::/32`. The result has each range once, in lower case and with its prefix length.
 */
export function readIpRanges(texts: readonly string[]): IpRangesOutcome {
  if (texts.length > maxIpRanges) return { ok: false, fault: `has ${texts.length} ranges, at most ${maxIpRanges} are taken` };
  const ranges = new Set<string>();
  for (const [index, text] of texts.entries()) {
    const range = readRange(text.trim().toLowerCase());
    if (range === null)
      return { ok: false, fault: `must list addresses or ranges such as 10.0.0.0/8; number ${index + 1} of ${texts.length} is neither` };
    ranges.add(range);
  }
  return { ok: true, ranges: [...ranges] };
}

function readRange(text: string): string | null {
  if (text.length > maxRangeLength) return null;
  const [address = '', prefixText, ...rest] = text.split('/');
  const family = isIP(address);
  // A zone (`fe80::1%eth0`) has a meaning on one machine only.
  if (family === 0 || address.includes('%') || rest.length > 0) return null;
  const bits = family === 4 ? 32 : 128;
  if (prefixText === undefined) return `${address}/${bits}`;
  const prefix = /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : Number.NaN;
  return prefix <= bits ? `${address}/${prefix}` : null;
}

/** Ranges are compiled at the first check, and cached as long as the principal exists. */
const compiled = new WeakMap<readonly string[], BlockList>();

/**
 * Whether an address is in one of `ranges` (in the form of `readIpRanges`); always true if there are no ranges. An IPv4 address in IPv6 form
 * counts as the IPv4 address. A text that is not an address is in no range.
 */
export function addressAllowed(ranges: readonly string[], address: string): boolean {
  if (ranges.length === 0) return true;
  if (isIP(address) === 0) return false;
  let list = compiled.get(ranges);
  if (list === undefined) compiled.set(ranges, (list = compileRanges(ranges)));
  return list.check(address, familyOf(address));
}

/** `ranges`: addresses, or networks in CIDR form. */
export function compileRanges(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

/** Of a text that is an address. */
export function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
