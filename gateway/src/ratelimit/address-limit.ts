import { gcraOf } from './gcra.ts';
import type { LimitClock } from './limit-clock.ts';
import type { Quota } from './limiter.ts';
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

/** The /64 network of an IPv6 address. One client usually has a whole network, and must not get a limit for each address. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) groups.push(...Array.from({ length: Math.max(0, 8 - groups.length - tail.split(':').length) }, () => '0'));
  return groups
    .concat(tail === undefined ? [] : tail.split(':'))
    .slice(0, 4)
    .map((group) => Number.parseInt(group === '' ? '0' : group, 16).toString(16))
    .join(':');
}
