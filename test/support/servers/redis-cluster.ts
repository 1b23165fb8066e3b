import { Redis } from 'ioredis';
import { until } from '../gateway.ts';
import type { TestRedis } from './redis.ts';

const joinTimeoutMs = 60_000;
const migrateTimeoutMs = 60_000;

/** The ports at which the other nodes of a cluster reach this one. */
interface Announced {
  readonly port: number;
  readonly busPort: number;
}

/**
 * Three nodes, started with `cluster`, that share the slots. Further nodes are replicas, the first of the first and so on. `announced` is
 * for nodes that announce other ports than their own.
 */
export async function formCluster(nodes: readonly TestRedis[], announced?: readonly Announced[]): Promise<void> {
  const [first] = nodes as [TestRedis];
  const place = announced?.[0] === undefined ? [String(first.port)] : [String(announced[0].port), String(announced[0].busPort)];
  const ranges = ['0 5460', '5461 10922', '10923 16383'];
  for (const [index, node] of nodes.entries()) {
    if (ranges[index] !== undefined) await node.command('CLUSTER', 'ADDSLOTSRANGE', ...ranges[index].split(' '));
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  }
  for (const node of nodes.slice(1)) await node.command('CLUSTER', 'MEET', '127.0.0.1', ...place);
  for (const node of nodes) {
    const isWhole = async (): Promise<boolean> => {
      const info = await node.command('CLUSTER', 'INFO');
      return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`);
    };
    await until('the cluster to be whole', isWhole, joinTimeoutMs);
  }
  for (const [index, replica] of nodes.slice(ranges.length).entries()) {
    await asked(replica, (client) => idOf(nodes[index] as TestRedis).then((id) => client.cluster('REPLICATE', id)));
    await until(
      'the replica to follow',
      async () => (await replica.command('INFO', 'replication')).includes('master_link_status:up'),
      joinTimeoutMs,
    );
  }
}

/** The node that has the slot of a key. */
export async function ownerOf(nodes: readonly TestRedis[], key: string): Promise<TestRedis> {
  for (const node of nodes) {
    if (!(await node.command('INFO', 'replication')).includes('role:master')) continue;
    // Every other node says that it has moved.
    if (!(await node.command('GET', key)).startsWith('-MOVED')) return node;
  }
  throw new Error(`No node has the slot of ${key}.`);
}

/** Moves the slot of a key with its data to another node, key by key, as resharding does. */
export async function moveSlot(nodes: readonly TestRedis[], key: string, from: TestRedis, to: TestRedis): Promise<void> {
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  const slot = await asked(from, (client) => client.cluster('KEYSLOT', key));
  await asked(to, (client) => client.cluster('SETSLOT', slot, 'IMPORTING', fromId));
  await asked(from, (client) => client.cluster('SETSLOT', slot, 'MIGRATING', toId));
  await asked(from, async (client) => {
    for (;;) {
      const keys = await client.cluster('GETKEYSINSLOT', slot, 10);
      if (keys.length === 0) return;
      await client.migrate('127.0.0.1', to.port, '', 0, migrateTimeoutMs, 'KEYS', ...keys);
    }
  });
  for (const node of [to, from, ...nodes]) await asked(node, (client) => client.cluster('SETSLOT', slot, 'NODE', toId));
}

function idOf(node: TestRedis): Promise<string> {
  return asked(node, (client) => client.cluster('MYID'));
}

async function asked<T>(node: TestRedis, question: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(node.url, { lazyConnect: true });
  await client.connect();
  try {
    return await question(client);
  } finally {
    client.disconnect();
  }
}
