import { readFileSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { isCode } from '@sluice/gateway/store/files/files.ts';
import type { Config } from '@sluice/shared/config/config.ts';

const tables = ['/proc/net/tcp', '/proc/net/tcp6'] as const;
const listening = '0A';

/** `foreign`: another user listens there. `unknown`: the system does not show the user, or the address is on another machine. */
export type Listener = { readonly kind: 'trusted' | 'nobody' | 'unknown' } | { readonly kind: 'foreign'; readonly fault: string };

/** Ids of the users that listen on `port`, on any address. `table` is the text of `/proc/net/tcp` or `/proc/net/tcp6`. */
export function listenersIn(table: string, port: number): readonly number[] {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === listening && Number.parseInt(local?.split(':')[1] ?? '', 16) === port)
    .map((columns) => Number(columns[7]));
}

/**
 * Checks which user listens at `url`. Any user of a machine can listen on a free port, and would receive the API key that is sent there.
 * Three users are trusted: root, the user of this process, and the owner of DATA_DIR, who can read the store anyway.
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
  const fault = `The listener at port ${number} belongs to the user ${foreign}, who is neither root, nor you, nor the owner of ${dataDir}. No API key was sent. If that user runs the gateway, run this command as that user.`;
  return { kind: 'foreign', fault };
}

function isOfThisMachine(host: string): boolean {
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return true;
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === host));
}

/** Null: this system does not have the table, or this user may not read it. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT') || isCode(error, 'EACCES')) return null;
    throw error;
  }
}
