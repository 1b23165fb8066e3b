import type { InspectedRedis, InspectedServer } from '@sluice/shared/bus/redis-inspect.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

/** Settings that decide what an outage of Redis costs; OPERATING.md says why. */
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

/** Judges each server by itself, and all of them together. */
export function judgeRedis({ kind, servers, away }: InspectedRedis): readonly Finding[] {
  const primaries = servers.filter(isPrimary);
  const faults = [
    ...away.map((server) => warn(name, `${server} gives no answer; nothing takes the place of another meanwhile`)),
    ...(kind === 'replicated' && primaries.length > 1 ? [twoPrimaries(primaries)] : []),
    ...servers.flatMap((server) => judgeServer(server, kind)),
  ];
  return faults.length > 0 ? faults : [ok(name, `${servers.length} ${servers.length === 1 ? 'server' : 'servers'}, as OPERATING.md says`)];
}

const isPrimary = ({ info }: InspectedServer): boolean => info.get('role') === 'master';

function twoPrimaries(primaries: readonly InspectedServer[]): Finding {
  const names = primaries.map((server) => server.name).join(' and ');
  return fail(name, `${names} each say that they are the primary: a split brain. Make all but one its replicas with REPLICAOF`);
}

function judgeServer(server: InspectedServer, kind: InspectedRedis['kind']): Finding[] {
  const { info, settings } = server;
  if (settings === null) {
    return [warn(name, `${server.name}: this user may not read them. Allow +config|get for the check, or compare them with OPERATING.md`)];
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
  if (policy !== undefined && policy !== 'noeviction')
    faults.push(`maxmemory-policy is ${policy}: it may throw the stream's memory away; set noeviction`);
  if (settings.get('appendonly') === 'no') faults.push('appendonly is no: each restart of it forgets the stream and the market; set yes');
  else if (settings.get('appendfsync') === 'no') faults.push('appendfsync is no: the end of its machine loses half a minute; set everysec');
  const limits = settings.get('client-output-buffer-limit') ?? '';
  const [hard = 0, soft = 0] = (/pubsub (\d+) (\d+)/.exec(limits) ?? []).slice(1).map(Number);
  const isBelow = (value: number, least: number): boolean => value !== 0 && value < least;
  if (isBelow(hard, leastPubsubBytes) || isBelow(soft, leastPubsubSoftBytes)) {
    faults.push(`client-output-buffer-limit pubsub is ${hard} ${soft}: a gateway that falls behind for a moment is cut; set 256mb 64mb 60`);
  }
  return faults;
}

function judgeReplicas(settings: Settings, replicas: number, info: InspectedServer['info']): string[] {
  const least = Number(settings.get('min-replicas-to-write'));
  const lag = Number(settings.get('min-replicas-max-lag'));
  const faults: string[] = [];
  if (replicas === 0) faults.push('it has no replica: nothing takes its place when it is gone');
  if (least === 0)
    faults.push('min-replicas-to-write is 0: cut off from its replicas it goes on, and a failover loses what it took; set 1');
  else if (least >= replicas) {
    faults.push(`min-replicas-to-write is ${least} and ${replicas} follow: after one failure nothing is published; add a replica`);
  }
  if (least > 0 && (lag === 0 || lag > maxLagSeconds))
    faults.push(`min-replicas-max-lag is ${lag}: so long it does not notice; set at most ${maxLagSeconds}`);
  if (least > 0 && Number.parseInt(info.get('redis_version') ?? '7', 10) < 7)
    faults.push('before Redis 7 min-replicas-to-write does not hold for scripts, which is how events are stored');
  return faults;
}

function judgeBacklog(settings: Settings): string[] {
  const bytes = Number(settings.get('repl-backlog-size'));
  return bytes < leastBacklogBytes
    ? [`repl-backlog-size is ${bytes}: a replica that is away for a moment copies everything again; set 256mb`]
    : [];
}

function judgeCluster(settings: Settings): string[] {
  const faults: string[] = [];
  const timeoutMs = Number(settings.get('cluster-node-timeout'));
  if (timeoutMs > maxNodeTimeoutMs)
    faults.push(`cluster-node-timeout is ${timeoutMs}: so long nothing is published after a node is gone; set at most ${maxNodeTimeoutMs}`);
  if (settings.get('cluster-require-full-coverage') === 'yes') {
    faults.push('cluster-require-full-coverage is yes: the loss of any slot stops the stream too; set no');
  }
  return faults;
}
