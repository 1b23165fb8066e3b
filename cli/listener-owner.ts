import { readFileSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { isCode } from '@sluice/gateway/store/system-error.ts';
import type { Config } from '@sluice/shared/config/config.ts';

const tables = ['/proc/net/tcp', '/proc/net/tcp6'] as const;
const listening = '0A';

/** `foreign`: another user listens there. `unknown`: the system does not say who listens, or the address is not of this machine. */
export type Listener = { readonly kind: 'trusted' | 'nobody' | 'unknown' } | { readonly kind: 'foreign'; readonly fault: string };

/** Users with a listening socket at `port`, at whatever address; `table` is the text of `/proc/net/tcp` or `/proc/net/tcp6`. */
export function listenersIn(table: string, port: number): readonly number[] {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === listening && Number.parseInt(local?.split(':')[1] ?? '', 16) === port)
    .map((columns) => Number(columns[7]));
}

/**
 * Who listens at `url`. Any user of a machine can take a port that is free, and would be given the API key that is sent there. Trusted are
 * root, the own user, and the owner of DATA_DIR, who has the store already.
 */
export function listenerAt(url: string, { dataDir }: Pick<Config, 'dataDir'>): Listener {
  const { hostname, port, protocol } = new URL(url);
  const own = process.getuid?.();
  if (own === undefined || !isOfThisMachine(hostname.replace(/^\[|\]$/g, ''))) return { kind: 'unknown' };
  const [ip4, ip6] = tables.map(textOf);
  if (ip4 === undefined || ip4 === null) return { kind: 'unknown' };
  const number = port === '' ? (/^(https|wss):$/.test(protocol) ? 443 : 80) : Number(port);
  const owners = [...listenersIn(ip4, number), ...listenersIn(ip6 ?? '', number)];
  if (owners.length === 0) return { kind: 'nobody' };
  const trusted = [0, own, statSync(dataDir, { throwIfNoEntry: false })?.uid];
  const foreign = owners.find((uid) => !trusted.includes(uid));
  if (foreign === undefined) return { kind: 'trusted' };
  const fault = `The listener at port ${number} belongs to the user ${foreign}, who is neither root, nor you, nor the owner of ${dataDir}. No API key is sent there. If that user runs the gateway, run this command as that user.`;
  return { kind: 'foreign', fault };
}

function isOfThisMachine(host: string): boolean {
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return true;
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === host));
}

/** Null: this system has no such table, or does not show it. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT') || isCode(error, 'EACCES')) return null;
    throw error;
  }
}
