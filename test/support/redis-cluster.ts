import { until } from './gateway.ts';
import type { TestRedis } from './redis.ts';

const joinTimeoutMs = 15_000;

/** Three nodes, started with `cluster`, that share the slots between them. */
export async function formCluster(nodes: readonly TestRedis[]): Promise<void> {
  const [first] = nodes as [TestRedis];
  const ranges = ['0 5460', '5461 10922', '10923 16383'];
  for (const [index, node] of nodes.entries()) {
    await node.command('CLUSTER', 'ADDSLOTSRANGE', ...(ranges[index] as string).split(' '));
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  }
  for (const node of nodes.slice(1)) await node.command('CLUSTER', 'MEET', '127.0.0.1', String(first.port));
  for (const node of nodes) {
    const isWhole = async (): Promise<boolean> => {
      const info = await node.command('CLUSTER', 'INFO');
      return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3');
    };
    await until('the cluster to be whole', isWhole, joinTimeoutMs);
  }
}
