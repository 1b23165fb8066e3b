import { gcraOf } from './gcra.ts';
import type { LimitClock, Quota } from './limiter.ts';
import { LocalLimits } from './local-limits.ts';

/** Addresses that are counted at one time. Above this limit, the one with the oldest request is dropped. */
const maxAddresses = 10_000;

/** Milliseconds until the address may send a request; 0 if this one is accepted. */
export type AddressLimit = (address: string) => number;

/** Counts requests of clients without a key by their address, each gateway for itself; all IPv6 clients in one /64 network count as one address. */
export function addressLimit(quota: Quota, clock: Pick<LimitClock, 'nowUs'>): AddressLimit {
  const limits = new LocalLimits(maxAddresses);
  const gcra = gcraOf(quota);
  return (address) => Math.ceil(limits.take(networkOf(address), gcra, 1, clock.nowUs()).waitUs / 1000);
}

/** The addresses that are counted together: an IPv4 address alone, or the /64 network of an IPv6 address. A client usually has such a network alone. */
export function networkOf(address: string): string {
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
