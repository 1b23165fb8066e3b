import { until } from '../support/gateway.ts';
import { formCluster } from '../support/servers/redis-cluster.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { createPartitions, sourceAddressOf, type Partitions, type Way } from './partitions.ts';
import { freePort } from '../support/free-port.ts';

/** One Redis server of a fleet. */
export interface FleetNode {
  readonly name: string;
  readonly redis: TestRedis;
  /** The port that everything except the tests uses. */
  readonly port: number;
}

/** Redis servers that can take each other's place, and the network between them and their clients. */
export interface RedisFleet {
  readonly kind: 'cluster' | 'replicas';
  readonly nodes: readonly FleetNode[];
  readonly network: Partitions;
  /** The addresses for one user, under whose name it can be separated from nodes. */
  urlsOf(user: string): string[];
  /** The servers that report themselves as the primary of the log; more than one in a split brain. */
  primaries(): Promise<readonly FleetNode[]>;
  /** The servers that can take its place. */
  replicasOf(primary: FleetNode): Promise<readonly FleetNode[]>;
  close(): Promise<void>;
}

export interface RedisFleetOptions {
  /** The users that may log in. */
  readonly users: readonly string[];
  /** Further settings of every server, in the form of its command line. */
  readonly args?: readonly string[];
}

const password = 'failover';
/** As in OPERATING.md. Users also identify clients. */
const rights = ['on', `>${password}`, '~*', '&*', '+@all', '-@dangerous', '-@admin', '+info'];
const key = '{sluice}:offset';
/** Long enough that a slow node on a busy machine does not count as gone. */
const nodeTimeoutMs = 2_500;
const clusterNodes = 6;
const replicaNodes = 3;
const followWithinMs = 20_000;

/** Six nodes: three primaries, and a replica of each. */
export async function startCluster(options: RedisFleetOptions): Promise<RedisFleet> {
  const fleet = await startNodes('cluster', clusterNodes, options);
  try {
    await formCluster(
      fleet.nodes.map(({ redis }) => redis),
      fleet.ports,
    );
    return {
      ...fleet,
      primaries: async () => {
        const found = [];
        for (const node of fleet.nodes) if (await ownsLog(node.redis)) found.push(node);
        return found;
      },
      replicasOf: async (primary) => {
        const id = bulk(await primary.redis.command('CLUSTER', 'MYID'));
        const lines = bulk(await primary.redis.command('CLUSTER', 'NODES')).split('\n');
        const ports = lines.filter((line) => line.includes(` ${id} `)).map((line) => Number(/:(\d+)@/.exec(line)?.[1]));
        return fleet.nodes.filter(({ port }) => ports.includes(port));
      },
    };
  } catch (error) {
    await fleet.close();
    throw error;
  }
}

/** A primary and two replicas. */
export async function startReplicas(options: RedisFleetOptions): Promise<RedisFleet> {
  const fleet = await startNodes('replicas', replicaNodes, options);
  const [first, ...others] = fleet.nodes as [FleetNode, ...FleetNode[]];
  const roleOf = async ({ redis }: FleetNode): Promise<string> => redis.command('INFO', 'replication').catch(() => '');
  try {
    for (const node of others) await follow(node, first);
    return {
      ...fleet,
      primaries: async () => {
        const roles = await Promise.all(fleet.nodes.map(roleOf));
        return fleet.nodes.filter((_, at) => roles[at]!.includes('role:master'));
      },
      replicasOf: async (primary) => {
        const roles = await Promise.all(fleet.nodes.map(roleOf));
        return fleet.nodes.filter((_, at) => roles[at]!.includes(`master_port:${primary.port}\r`));
      },
    };
  } catch (error) {
    await fleet.close();
    throw error;
  }
}

/** Makes a server the replica of another; resolves when it follows it. */
async function follow(node: FleetNode, primary: FleetNode): Promise<void> {
  await node.redis.command('REPLICAOF', '127.0.0.1', String(primary.port));
  await until(`${node.name} to follow ${primary.name}`, () => isFollowing(node), followWithinMs);
}

export async function isFollowing({ redis }: FleetNode): Promise<boolean> {
  return (await redis.command('INFO', 'replication')).includes('master_link_status:up');
}

type Nodes = Pick<RedisFleet, 'kind' | 'nodes' | 'network' | 'urlsOf' | 'close'> & { readonly ports: readonly Ports[] };

/** The addresses at which the nodes of a cluster find each other. */
interface Ports {
  readonly port: number;
  readonly busPort: number;
}

async function startNodes(kind: RedisFleet['kind'], count: number, { users, args = [] }: RedisFleetOptions): Promise<Nodes> {
  const network = createPartitions();
  const nodes: FleetNode[] = [];
  const ports: Ports[] = [];
  const close = async (): Promise<void> => {
    await network.close();
    await Promise.all(nodes.map(({ redis }) => redis.stop()));
  };
  try {
    for (let at = 0; at < count; at++) {
      const name = `node-${at}`;
      const way = await network.open(name);
      const busWay = kind === 'cluster' ? await network.open(name) : null;
      const busPort = busWay === null ? null : await freePort();
      const own = ['--bind-source-addr', sourceAddressOf(at), '--repl-diskless-sync-delay', '0', ...announced(way, busWay, busPort)];
      const logins = users.flatMap((user) => ['--user', user, ...rights]);
      const redis = await startRedis({ appendOnly: true, cluster: kind === 'cluster', args: [...own, ...args, ...logins] });
      way.target(redis.port);
      busWay?.target(busPort!);
      nodes.push({ name, redis, port: way.port });
      if (busWay !== null) ports.push({ port: way.port, busPort: busWay.port });
    }
  } catch (error) {
    await close();
    throw error;
  }
  const urlsOf = (user: string): string[] => {
    const known = kind === 'cluster' ? nodes.slice(0, 3) : nodes;
    return known.map(({ port }) => `redis://${user}:${password}@127.0.0.1:${port}`);
  };
  return { kind, nodes, ports, network, urlsOf, close };
}

function announced(way: Way, busWay: Way | null, busPort: number | null): string[] {
  if (busWay === null) return ['--replica-announce-ip', '127.0.0.1', '--replica-announce-port', String(way.port)];
  const settings: Readonly<Record<string, string | number>> = {
    'cluster-port': String(busPort),
    'cluster-node-timeout': nodeTimeoutMs,
    'cluster-announce-ip': '127.0.0.1',
    'cluster-announce-port': way.port,
    'cluster-announce-bus-port': busWay.port,
    'cluster-replica-validity-factor': 0,
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** Whether it is a primary and has the slot of the log: every other node replies that the slot moved. */
async function ownsLog(redis: TestRedis): Promise<boolean> {
  const role = await redis.command('INFO', 'replication').catch(() => '');
  return role.includes('role:master') && !/^-(?:MOVED|ASK)/.test(await redis.command('GET', key).catch(() => '-MOVED'));
}

/** The text of a bulk reply. */
function bulk(reply: string): string {
  return reply.slice(reply.indexOf('\r\n') + 2).trimEnd();
}
