import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether only this machine can reach a listener on `host`: `localhost`, or an address of the loopback. IPv6 without brackets. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host.toLowerCase() === 'localhost' : loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

const hostForm = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]]+))(?::\d*)?$/;

/** The name in a `Host` header, lower-case, without port, brackets and the dot of the root; null if the header has another form. */
export function nameOfHost(header: string): string | null {
  const [, address, name] = hostForm.exec(header.toLowerCase()) ?? [];
  return address ?? name?.replace(/\.$/, '') ?? null;
}

/** Whether a `Host` header is accepted. */
export type HostCheck = (header: string | undefined) => boolean;

/**
 * A web page reaches a listener on this machine or in this network if the author of the page points its name there (DNS rebinding). For the
 * browser, the listener then belongs to the page. Its requests have the name of the page in `Host`, so only these are accepted:
 * - the names of the loopback and `allowed`, on a loopback listener;
 * - in addition its own name and every IP address, which needs no DNS, on another listener with `allowed`;
 * - any name, on another listener without `allowed`, or if `allowed` has `*`.
 *
 * The port is not compared, because a forwarded port differs. A request without the header does not come from a browser.
 */
export function hostCheck(listener: string, allowed: readonly string[]): HostCheck {
  const isLocal = isLoopback(listener);
  if (allowed.includes('*') || (!isLocal && allowed.length === 0)) return () => true;
  const names = new Set([listener.toLowerCase(), ...allowed]);
  return (header) => {
    if (header === undefined) return true;
    const name = nameOfHost(header);
    return name !== null && (isLoopback(name) || names.has(name) || (!isLocal && isIP(name) !== 0));
  };
}
