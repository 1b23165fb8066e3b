import { setTimeout as delay } from 'node:timers/promises';
import type { Plagues } from '../chaos/chaos-run.ts';
import type { ChaosWorld, Part } from '../chaos/chaos-world.ts';
import { linkFaults, processFaults } from '../chaos/faults.ts';
import type { Random } from '../simnet/market/random.ts';
import { until } from '../support/gateway.ts';
import { isFollowing, type FleetNode, type RedisFleet } from './redis-fleet.ts';

const healthyWithinMs = 60_000;
const between = (random: Random, from: number, to: number): number => from + random.below(to - from + 1);

/** The user name with which a part logs in to Redis. */
export const userOf = (part: string): string => part.replace(' ', '-');

/** What an operator of Redis does: nothing promotes a replica of a plain primary automatically. */
class Operator {
  readonly #fleet: RedisFleet;

  constructor(fleet: RedisFleet) {
    this.#fleet = fleet;
  }

  async primary(): Promise<FleetNode> {
    let found: readonly FleetNode[] = [];
    await until('one primary', async () => (found = await this.#fleet.primaries()).length === 1, healthyWithinMs);
    return found[0]!;
  }

  async replica(random: Random): Promise<FleetNode> {
    const replicas = await this.#fleet.replicasOf(await this.primary());
    return random.pick(replicas);
  }

  /** After the primary is gone, the replica with most of its data takes its place. A cluster does that by itself. */
  async promote(gone: FleetNode): Promise<FleetNode> {
    const others = async (): Promise<readonly FleetNode[]> => (await this.#fleet.primaries()).filter((node) => node !== gone);
    if (this.#fleet.kind === 'replicas') {
      const replicas = this.#fleet.nodes.filter((node) => node !== gone);
      const ends = await Promise.all(replicas.map(endOf));
      const best = replicas[ends.indexOf(Math.max(...ends))]!;
      await best.redis.command('REPLICAOF', 'NO', 'ONE');
      for (const node of replicas) if (node !== best) await pointAt(node, best);
      return best;
    }
    await until('another primary', async () => (await others()).length > 0, healthyWithinMs);
    return (await others())[0]!;
  }

  /** All replicas follow this primary, and there is no other primary. */
  async settle(primary: FleetNode): Promise<void> {
    if (this.#fleet.kind === 'replicas') {
      for (const node of this.#fleet.nodes) if (node !== primary) await pointAt(node, primary);
    }
    const others = this.#fleet.nodes.filter((node) => node !== primary);
    const follows = async (node: FleetNode): Promise<boolean> => {
      const role = await node.redis.command('INFO', 'replication').catch(() => '');
      return role.includes('role:master') || (await isFollowing(node));
    };
    const isWell = async (): Promise<boolean> => {
      const primaries = await this.#fleet.primaries();
      if (primaries.length !== 1 || (await this.#fleet.replicasOf(primaries[0]!)).length === 0) return false;
      return (await Promise.all(others.map(follows))).every(Boolean);
    };
    await until('Redis to be complete', isWell, healthyWithinMs);
  }
}

async function endOf({ redis }: FleetNode): Promise<number> {
  return Number(/slave_repl_offset:(\d+)/.exec(await redis.command('INFO', 'replication').catch(() => ''))?.[1] ?? -1);
}

async function pointAt(node: FleetNode, primary: FleetNode): Promise<void> {
  await node.redis.command('REPLICAOF', '127.0.0.1', String(primary.port));
}

/** How much a replica may lack that takes the place of a primary: far more than on a busy machine. */
const declaredBeforeMs = 3_000;

/** Faults of the Redis of a world: first those that may lose nothing, then those that may lose the end of the log. */
export function failoverPlagues(fleet: RedisFleet): Plagues {
  const { 'gateway killed': gatewayKilled } = processFaults;
  const later = (forget: () => void): Plagues['first'] => ({ ...harmful(fleet, forget), 'gateway killed': gatewayKilled! });
  return { first: harmless(fleet), later, throughout: otherFaults(fleet), declaredBeforeMs };
}

function harmless(fleet: RedisFleet): Plagues['first'] {
  const operator = new Operator(fleet);
  return {
    'Redis handed over': (_, random) => ({
      name: 'as an operator does',
      run: async () => {
        const primary = await operator.primary();
        const heir = await operator.replica(random);
        if (fleet.kind === 'cluster') await heir.redis.command('CLUSTER', 'FAILOVER');
        else await primary.redis.command('FAILOVER', 'TO', '127.0.0.1', String(heir.port));
        await until('the heir to be the primary', async () => (await fleet.primaries())[0] === heir, healthyWithinMs);
        await operator.settle(heir);
      },
    }),
    'Redis replica killed': (_, random) => {
      const ms = between(random, 0, 2_000);
      return {
        name: `${ms} ms`,
        run: async () => {
          const [primary, replica] = [await operator.primary(), await operator.replica(random)];
          await replica.redis.kill();
          await delay(ms);
          await replica.redis.restart();
          await operator.settle(primary);
        },
      };
    },
    'Redis replica stopped': (_, random) => {
      const ms = between(random, 300, 4_000);
      return {
        name: `${ms} ms`,
        run: async () => {
          const [primary, replica] = [await operator.primary(), await operator.replica(random)];
          replica.redis.pause();
          await delay(ms);
          replica.redis.resume();
          await operator.settle(primary);
        },
      };
    },
    'Redis replica isolated': (world, random) => {
      const ms = between(random, 300, 4_000);
      return {
        name: `${ms} ms`,
        run: async () => {
          const [primary, replica] = [await operator.primary(), await operator.replica(random)];
          const heal = fleet.network.separate([replica.name], everybodyBut(fleet, world, [replica]));
          await delay(ms);
          heal();
          await operator.settle(primary);
        },
      };
    },
  };
}

function harmful(fleet: RedisFleet, forget: () => void): ReturnType<Plagues['later']> {
  const operator = new Operator(fleet);
  /** Applies a fault to the primary until a replica has taken its place, then ends the fault. */
  const lose = (name: string, harm: (primary: FleetNode, world: ChaosWorld) => Promise<() => Promise<void>>): Plagues['first'][string] => {
    return (world, random) => {
      const ms = between(random, 0, 3_000);
      return {
        name: `${name}, ${ms} ms after another took its place`,
        run: async () => {
          const primary = await operator.primary();
          forget();
          const undo = await harm(primary, world);
          const heir = await operator.promote(primary);
          await delay(ms);
          await undo();
          await operator.settle(heir);
        },
      };
    };
  };
  return {
    'Redis primary killed': lose('restarted', async ({ redis }) => {
      await redis.kill();
      return () => redis.restart();
    }),
    'Redis primary stopped': lose('resumed', async ({ redis }) => {
      redis.pause();
      return async () => redis.resume();
    }),
    'Redis primary isolated': lose('healed', async (primary, world) => {
      const heal = fleet.network.separate([primary.name], everybodyBut(fleet, world, [primary]));
      return async () => heal();
    }),
    // It continues to store what that process publishes, and no other process sees it.
    'Redis primary isolated with ingest': lose('healed', async (primary, world) => {
      const [publishing] = world.ingests as [Part, ...Part[]];
      const heal = fleet.network.separate([primary.name, userOf(publishing.name)], everybodyBut(fleet, world, [primary], publishing));
      return async () => heal();
    }),
    'Redis taken over': (_, random) => ({
      name: 'without asking the primary',
      run: async () => {
        const heir = await operator.replica(random);
        forget();
        if (fleet.kind === 'cluster') await heir.redis.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
        else await heir.redis.command('REPLICAOF', 'NO', 'ONE');
        await operator.settle(heir);
      },
    }),
  };
}

/** Faults of the other parts at the same time. */
function otherFaults(fleet: RedisFleet): Plagues['throughout'] {
  // If a gateway is killed while Redis changes, a new epoch begins although nothing is lost, because nobody knows what that gateway had
  // sent.
  const { 'ingest killed': ingestKilled, 'gateway stopped': gatewayStopped } = processFaults;
  const { fork, 'client to gateway': clientLink, 'node drops': nodeDrops, 'all nodes': allNodes } = linkFaults;
  const cut = (of: (world: ChaosWorld) => readonly Part[]): Plagues['throughout'][string] => {
    return (world, random) => {
      const part = random.pick(of(world));
      const ms = between(random, 300, 6_000);
      return {
        name: `${part.name}, ${ms} ms`,
        run: async () => {
          const heal = fleet.network.separate(
            [userOf(part.name)],
            fleet.nodes.map(({ name }) => name),
          );
          await delay(ms);
          heal();
        },
      };
    };
  };
  return {
    fork: fork!,
    'ingest killed': ingestKilled!,
    'gateway stopped': gatewayStopped!,
    'client to gateway': clientLink!,
    'node drops': nodeDrops!,
    'all nodes': allNodes!,
    'ingest from all Redis': cut(({ ingests }) => ingests),
    'gateway from all Redis': cut(({ gateways }) => gateways),
  };
}

function everybodyBut(fleet: RedisFleet, { ingests, gateways }: ChaosWorld, nodes: readonly FleetNode[], except?: Part): string[] {
  const others = fleet.nodes.filter((node) => !nodes.includes(node)).map(({ name }) => name);
  const parts = [...ingests, ...gateways].filter((part) => part !== except);
  return [...others, ...parts.map(({ name }) => userOf(name))];
}
