import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../simnet/market/random.ts';
import type { ChaosWorld, Part } from './chaos-world.ts';
import type { Direction, TcpProxy, Weather } from './tcp-proxy.ts';

/** One fault, which is over when `run` resolves. */
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

/** Faults of processes. No other fault of this kind begins until the process works again. */
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
        // It must first notice what it lost in the meantime.
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

async function weathered(proxies: readonly TcpProxy[], { refuses, ...weather }: Weather, ms: number): Promise<void> {
  for (const proxy of proxies) {
    proxy.set(refuses === true ? { refuses } : weather);
    if (refuses === true) proxy.cut();
  }
  await delay(ms);
  for (const proxy of proxies) proxy.clear();
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
      await weathered([proxy], weather, ms);
      await settle();
    },
  };
}

const nothing = async (): Promise<void> => undefined;

/** Many links at once, either for a moment or until it is noticed. */
function allCut(proxies: readonly TcpProxy[], random: Random, settle: () => Promise<void>): Fault {
  const ms = random.chance(0.3) ? 0 : between(random, 300, 6_000);
  return {
    name: `${ms} ms`,
    run: async () => {
      await weathered(proxies, { refuses: true }, ms);
      await settle();
    },
  };
}

/** Faults of links between parts, and of a node's reports. */
export const linkFaults: Readonly<Record<string, Make>> = {
  'ingest to a node': ({ ingests, sighted }, random) => {
    const part = random.pick(ingests);
    return linkFault(part, random.pick(part.nodes), random, async () => {
      // A link that works in one direction only must be noticed by the silence of a slot or two.
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
  'all nodes': ({ ingests, sighted }, random) =>
    allCut(
      ingests.flatMap(({ nodes }) => nodes),
      random,
      sighted,
    ),
  'all gateways to Redis': ({ gateways }, random) =>
    allCut(
      gateways.map(({ redis }) => redis),
      random,
      nothing,
    ),
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
  'node drops': ({ simnet }, random) => {
    const ms = between(random, 300, 3_000);
    const share = random.pick([0.05, 0.3, 1]);
    return {
      name: `${share * 100} % of the logs, ${ms} ms`,
      run: async () => {
        simnet.control.drop({ share, kinds: ['logs'] });
        await delay(ms);
        simnet.control.clear('drop');
      },
    };
  },
  fork: ({ simnet }, random) => {
    const [slots, replay, times] = [between(random, 1, 2), random.chance(0.7), between(random, 1, 3)];
    return {
      name: `${slots} slots${replay ? ', which land again' : ''}, ${times} times`,
      run: async () => {
        for (let time = 0; time < times; time++) {
          simnet.control.fork({ slots, replay });
          await delay(between(random, 100, 400));
        }
      },
    };
  },
};

/** Faults that make Redis lose what it has acknowledged; clients receive a gap for it. `forget` is called when the loss may have begun. */
export const memoryFaults = (forget: () => void): Readonly<Record<string, Make>> => ({
  'Redis flushed': (world, random) => {
    const kill = somebodyKilled(world, random);
    return {
      name: kill.name,
      run: async () => {
        forget();
        await Promise.all([world.redis.command('FLUSHALL'), kill.run()]);
      },
    };
  },
  'Redis back in time': (world, random) => {
    const kill = somebodyKilled(world, random);
    const bytes = between(random, 2_000, 200_000);
    return {
      name: `without the last ${bytes} bytes of its file, ${kill.name}`,
      run: async () => {
        const { redis } = world;
        forget();
        await redis.kill();
        redis.cutFile(bytes);
        await Promise.all([redis.restart(), kill.run()]);
      },
    };
  },
});

/** Every second time, a process dies at the same moment. */
function somebodyKilled({ ingests, gateways, sighted }: ChaosWorld, random: Random): Fault {
  if (random.chance(0.5)) return { name: 'and nothing else', run: nothing };
  const part = random.pick([...ingests, ...gateways]);
  return {
    name: `and ${part.name} killed`,
    run: async () => {
      await part.crash();
      await sighted();
    },
  };
}
