import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../simnet/market/random.ts';
import type { ChaosWorld, Part } from './chaos-world.ts';
import type { Direction, TcpProxy, Weather } from './tcp-proxy.ts';

/** One thing that goes wrong, and is over when it resolves. */
export interface Fault {
  readonly name: string;
  run(): Promise<void>;
}

type Make = (world: ChaosWorld, random: Random) => Fault;

const between = (random: Random, from: number, to: number): number => from + random.below(to - from + 1);

async function paused(pause: () => void, resume: () => void, ms: number): Promise<void> {
  pause();
  await delay(ms);
  resume();
}

/** What happens to processes. Nothing else of this kind happens until it is at work again. */
export const processFaults: Readonly<Record<string, Make>> = {
  'ingest killed': ({ ingests, sighted }, random) => {
    const part = random.pick(ingests);
    return {
      name: part.name,
      run: async () => {
        await part.crash();
        await sighted();
      },
    };
  },
  'ingest stopped': ({ ingests, sighted }, random) => {
    const part = random.pick(ingests);
    const ms = between(random, 300, 4_000);
    return {
      name: `${part.name}, ${ms} ms`,
      run: async () => {
        await paused(part.pause, part.resume, ms);
        // What it gave up meanwhile it has to notice first.
        await delay(1_000);
        await sighted();
      },
    };
  },
  'gateway killed': ({ gateways }, random) => {
    const part = random.pick(gateways);
    return { name: part.name, run: () => part.crash() };
  },
  'gateway stopped': ({ gateways }, random) => {
    const part = random.pick(gateways);
    const ms = between(random, 300, 8_000);
    return { name: `${part.name}, ${ms} ms`, run: () => paused(part.pause, part.resume, ms) };
  },
  'Redis killed': ({ redis }, random) => {
    const ms = between(random, 0, 3_000);
    return {
      name: `${ms} ms`,
      run: async () => {
        await redis.kill();
        await delay(ms);
        await redis.restart();
      },
    };
  },
  'Redis stopped': ({ redis }, random) => {
    const ms = between(random, 200, 7_000);
    return {
      name: `${ms} ms`,
      run: () =>
        paused(
          () => redis.pause(),
          () => redis.resume(),
          ms,
        ),
    };
  },
};

function weatherOf(random: Random): { readonly name: string; readonly weather: Weather } {
  const ways: readonly (readonly Direction[])[] = [['up', 'down'], ['up'], ['down']];
  const swallows = random.pick(ways);
  return random.pick([
    { name: 'slow', weather: { latencyMs: between(random, 5, 200), jitterMs: between(random, 0, 100) } },
    { name: 'stalled', weather: { stalled: true } },
    { name: 'half open', weather: { swallows } },
    { name: 'sliced', weather: { sliceBytes: between(random, 1, 64) } },
    { name: 'narrow', weather: { bytesPerSecond: between(random, 100_000, 400_000) } },
    { name: 'refused', weather: { refuses: true } },
  ]);
}

async function weathered(proxy: TcpProxy, { refuses, ...weather }: Weather, ms: number): Promise<void> {
  proxy.set(refuses === true ? { refuses } : weather);
  if (refuses === true) proxy.cut();
  await delay(ms);
  proxy.clear();
}

function linkFault(part: Part, proxy: TcpProxy, random: Random, settle: () => Promise<void>): Fault {
  if (random.chance(0.25)) {
    return {
      name: `${part.name}, cut`,
      run: async () => {
        proxy.cut();
        await settle();
      },
    };
  }
  const { name, weather } = weatherOf(random);
  const ms = between(random, 300, 6_000);
  return {
    name: `${part.name}, ${name} for ${ms} ms`,
    run: async () => {
      await weathered(proxy, weather, ms);
      await settle();
    },
  };
}

const nothing = async (): Promise<void> => undefined;

/** What happens to links between parts, and to what a node tells. */
export const linkFaults: Readonly<Record<string, Make>> = {
  'ingest to a node': ({ ingests, sighted }, random) => {
    const part = random.pick(ingests);
    return linkFault(part, random.pick(part.nodes), random, async () => {
      // What is only half there has to be noticed: by the silence of a slot or two.
      await delay(1_000);
      await sighted();
    });
  },
  'ingest to Redis': ({ ingests }, random) => {
    const part = random.pick(ingests);
    return linkFault(part, part.redis, random, nothing);
  },
  'gateway to Redis': ({ gateways }, random) => {
    const part = random.pick(gateways);
    return linkFault(part, part.redis, random, nothing);
  },
  'client to gateway': ({ gateways }, random) => {
    const part = random.pick(gateways);
    return linkFault(part, part.clients!, random, nothing);
  },
  'node repeats': ({ simnet }, random) => {
    const ms = between(random, 300, 3_000);
    return {
      name: `${ms} ms`,
      run: async () => {
        simnet.control.duplicate({ share: 0.5 });
        simnet.control.lookAlike({ count: 5 });
        await delay(ms);
        simnet.control.clear('duplicate');
      },
    };
  },
};
