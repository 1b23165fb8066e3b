import type { InspectedRedis, InspectedServer } from '@sluice/shared/bus/redis/redis-inspect.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

/** Settings that decide what is lost in an outage of Redis. OPERATING.md explains them. */
export const redisSettings = [
  'maxmemory-policy',
  'appendonly',
  'appendfsync',
  'min-replicas-to-write',
  'min-replicas-max-lag',
  'repl-backlog-size',
  'client-output-buffer-limit',
  'cluster-node-timeout',
  'cluster-require-full-coverage',
] as const;

const megabyte = 1024 * 1024;
const leastPubsubBytes = 256 * megabyte;
const leastPubsubSoftBytes = 64 * megabyte;
const leastBacklogBytes = 64 * megabyte;
const maxLagSeconds = 10;
const maxNodeTimeoutMs = 15_000;
const name = 'redis settings';

/** Checks each server, and then all of them together. */
export function judgeRedis({ kind, servers, unreachable }: InspectedRedis): readonly Finding[] {
  const primaries = servers.filter(isPrimary);
  const faults = [
    ...unreachable.map((server) => warn(name, `${server} does not answer; if another server fails now, nothing replaces it`)),
    ...(kind === 'replicated' && primaries.length > 1 ? [twoPrimaries(primaries)] : []),
    ...servers.flatMap((server) => judgeServer(server, kind)),
  ];
  return faults.length > 0
    ? faults
    : [ok(name, `${servers.length} ${servers.length === 1 ? 'server' : 'servers'}, set up as OPERATING.md recommends`)];
}

const isPrimary = ({ info }: InspectedServer): boolean => info.get('role') === 'master';

function twoPrimaries(primaries: readonly InspectedServer[]): Finding {
  const names = primaries.map((server) => server.name).join(' and ');
  return fail(name, `${names} each report that they are the primary (split brain). Make all but one of them replicas with REPLICAOF`);
}

function judgeServer(server: InspectedServer, kind: InspectedRedis['kind']): Finding[] {
  const { info, settings } = server;
  if (settings === null) {
    return [warn(name, `${server.name}: this user may not read the settings. Allow +config|get, or compare them with OPERATING.md`)];
  }
  const replicas = Number(info.get('connected_slaves') ?? 0);
  const isReplicated = kind !== 'single' || replicas > 0;
  return [
    ...judgeMemory(settings),
    ...(isReplicated && isPrimary(server) ? judgeReplicas(settings, replicas, info) : []),
    ...(isReplicated ? judgeBacklog(settings) : []),
    ...(kind === 'cluster' ? judgeCluster(settings) : []),
  ].map((detail) => warn(name, `${server.name}: ${detail}`));
}

type Settings = NonNullable<InspectedServer['settings']>;

function judgeMemory(settings: Settings): string[] {
  const faults: string[] = [];
  const policy = settings.get('maxmemory-policy');
  if (policy !== undefined && policy !== 'noeviction') faults.push(`maxmemory-policy is ${policy}: it may evict the log; set noeviction`);
  if (settings.get('appendonly') === 'no') faults.push('appendonly is no: each restart of Redis loses the log and the market; set yes');
  else if (settings.get('appendfsync') === 'no')
    faults.push('appendfsync is no: a crash of the machine loses about 30 seconds; set everysec');
  const limits = settings.get('client-output-buffer-limit') ?? '';
  const [hard = 0, soft = 0] = (/pubsub (\d+) (\d+)/.exec(limits) ?? []).slice(1).map(Number);
  const isBelow = (value: number, least: number): boolean => value !== 0 && value < least;
  if (isBelow(hard, leastPubsubBytes) || isBelow(soft, leastPubsubSoftBytes)) {
    faults.push(
      `client-output-buffer-limit pubsub is ${hard} ${soft}: a gateway that lags for a moment is disconnected; set 256mb 64mb 60`,
    );
  }
  return faults;
}

function judgeReplicas(settings: Settings, replicas: number, info: InspectedServer['info']): string[] {
  const least = Number(settings.get('min-replicas-to-write'));
  const lag = Number(settings.get('min-replicas-max-lag'));
  const faults: string[] = [];
  if (replicas === 0) faults.push('it has no replica: nothing replaces it if it fails');
  if (least === 0)
    faults.push(
      'min-replicas-to-write is 0: a primary without contact to its replicas still accepts writes, and a failover loses them; set 1',
    );
  else if (least >= replicas) {
    faults.push(
      `min-replicas-to-write is ${least} and there are ${replicas} replicas: after one failure nothing is published; add a replica`,
    );
  }
  if (least > 0 && (lag === 0 || lag > maxLagSeconds))
    faults.push(`min-replicas-max-lag is ${lag}: it notices a lost replica only after this many seconds; set at most ${maxLagSeconds}`);
  if (least > 0 && Number.parseInt(info.get('redis_version') ?? '7', 10) < 7)
    faults.push('Redis before version 7 does not apply min-replicas-to-write to scripts, and events are stored by scripts; use Redis 7');
  return faults;
}

function judgeBacklog(settings: Settings): string[] {
  const bytes = Number(settings.get('repl-backlog-size'));
  return bytes < leastBacklogBytes
    ? [`repl-backlog-size is ${bytes}: a replica that disconnects for a moment must copy everything again; set 256mb`]
    : [];
}

function judgeCluster(settings: Settings): string[] {
  const faults: string[] = [];
  const timeoutMs = Number(settings.get('cluster-node-timeout'));
  if (timeoutMs > maxNodeTimeoutMs)
    faults.push(
      `cluster-node-timeout is ${timeoutMs}: after a node fails, nothing is published for this many milliseconds; set at most ${maxNodeTimeoutMs}`,
    );
  if (settings.get('cluster-require-full-coverage') === 'yes') {
    faults.push('cluster-require-full-coverage is yes: if any slot is lost, the stream stops too; set no');
  }
  return faults;
}
