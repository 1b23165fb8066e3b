import { setTimeout as delay } from 'node:timers/promises';
import { createRandom, type Random } from '../simnet/market/random.ts';
import { until } from '../support/gateway.ts';
import type { ChaosWorld } from './chaos-world.ts';
import { linkFaults, processFaults } from './faults.ts';
import { Judge } from './judge.ts';
import { ResumingClient, type Frame, type ResumingClientOptions, type Subscription } from './resuming-client.ts';

export interface ChaosReport {
  /** Empty where nothing was lost in silence, doubled, or invented. */
  readonly faults: readonly string[];
  /** What was done, and how often. */
  readonly done: Readonly<Record<string, number>>;
  readonly emitted: number;
  readonly deliveries: number;
  readonly gaps: Readonly<Record<string, number>>;
  readonly resumes: number;
  readonly closes: Readonly<Record<string, number>>;
  readonly awayMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

export interface ChaosOptions {
  readonly seed: string;
  readonly durationMs: number;
  readonly clients: number;
  /** Told of each fault before it begins. */
  readonly tell: (text: string) => void;
}

const minSol = 0.5;
const settleWithinMs = 30_000;
/** Longest pause between two faults of a kind. */
const maxPauseMs = 1_500;
const mintClients = 2;
const mintsEach = 10;

const filtered = 'filtered';

const passes = ({ type, solAmount }: Frame['event']): boolean => type !== 'trade' || Number(solAmount) >= minSol;

function clientOptions(world: ChaosWorld, at: number, judge: Judge, random: Random): ResumingClientOptions {
  const kinds: readonly { readonly name: string; readonly subscriptions: readonly Subscription[] }[] = [
    { name: 'all', subscriptions: [{ channel: 'trades' }, { channel: 'newTokens' }, { channel: 'migrations' }] },
    { name: 'trades', subscriptions: [{ channel: 'trades' }] },
    { name: filtered, subscriptions: [{ channel: 'trades', filter: { minSol } }] },
  ];
  const { name, subscriptions } = kinds[at % kinds.length]!;
  return {
    ...commonOptions(world, judge, random),
    name: `${name}-${at}`,
    format: at % 2 === 0 ? 'json' : 'msgpack',
    batch: at % 4 > 1,
    subscriptions,
  };
}

function commonOptions({ gateways, apiKey }: ChaosWorld, judge: Judge, random: Random) {
  return { hosts: gateways.map(({ clients }) => `127.0.0.1:${clients!.port}`), apiKey, witness: judge, random: () => random.next() };
}

/** Does one fault after the other until the time is over. */
async function plague(
  world: ChaosWorld,
  makes: typeof linkFaults,
  random: Random,
  endMs: number,
  note: (kind: string, name: string) => void,
): Promise<void> {
  const kinds = Object.keys(makes);
  // Each kind once, in an order of the seed, before any comes again.
  let line: string[] = [];
  while (performance.now() < endMs) {
    if (line.length === 0)
      line = kinds
        .map((kind) => ({ kind, at: random.next() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ kind }) => kind);
    const kind = line.shift()!;
    const fault = makes[kind]!(world, random);
    note(kind, fault.name);
    await fault.run();
    await delay(random.below(maxPauseMs));
  }
}

/** Lets all of it go wrong for a time, then lets everything come to rest, and judges. */
export async function runChaos(world: ChaosWorld, { seed, durationMs, clients: count, tell }: ChaosOptions): Promise<ChaosReport> {
  const judge = new Judge({ passes, isFiltered: (client) => client.startsWith(filtered) });
  const random = createRandom(`${seed} clients`);
  const clients = Array.from({ length: count }, (_, at) => new ResumingClient(clientOptions(world, at, judge, random)));
  const done: Record<string, number> = {};
  const startedAtMs = performance.now();
  const note = (kind: string, name: string): void => {
    done[kind] = (done[kind] ?? 0) + 1;
    tell(`${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s: ${kind}: ${name}`);
  };
  const follow = async (fresh: readonly ResumingClient[]): Promise<void> => {
    for (const client of fresh) client.start();
    await until('all clients to follow', () => fresh.every((client) => client.isFollowing), settleWithinMs);
  };
  try {
    await follow(clients);
    world.simnet.chain.start();
    await until('some tokens', () => judge.mints.size >= mintsEach * mintClients, settleWithinMs);
    const mints = [...judge.mints.keys()];
    const late = Array.from({ length: mintClients }, (_, at) => {
      const subscriptions = [{ channel: 'trades', mints: mints.slice(at * mintsEach, (at + 1) * mintsEach) }] as const;
      return new ResumingClient({
        ...commonOptions(world, judge, random),
        name: `mints-${at}`,
        format: 'json',
        batch: at % 2 === 1,
        subscriptions,
      });
    });
    clients.push(...late);
    await follow(late);
    const endMs = performance.now() + durationMs;
    await Promise.all([
      plague(world, processFaults, createRandom(`${seed} processes`), endMs, note),
      plague(world, linkFaults, createRandom(`${seed} links`), endMs, note),
    ]);
    await world.sighted();
    await delay(1_000);
    world.simnet.chain.stop();
    await settle(world, judge, clients);
    return report(world, judge, clients, done);
  } finally {
    world.simnet.chain.stop();
    for (const client of clients) client.close();
  }
}

/** Resolves when everybody has everything, or when that did not come to be in time. */
async function settle({ emitted }: ChaosWorld, judge: Judge, clients: readonly ResumingClient[]): Promise<void> {
  const isSettled = (): boolean =>
    clients.every((client) => client.isFollowing) &&
    [...emitted].every(([topic, ids]) => judge.told(topic) >= ids.size) &&
    judge.isCaughtUp();
  // What is missing then is what the judge says.
  await until('everybody to have everything', isSettled, settleWithinMs).catch((error: unknown) => judge.onFault('the end', String(error)));
}

function report(
  { emitted, deaths }: ChaosWorld,
  judge: Judge,
  clients: readonly ResumingClient[],
  done: Record<string, number>,
): ChaosReport {
  const away = clients.flatMap(({ awayMs }) => awayMs).toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round(away[Math.min(away.length - 1, Math.floor(away.length * share))] ?? 0);
  const closes: Record<string, number> = {};
  for (const client of clients) for (const [code, times] of client.closes) closes[code] = (closes[code] ?? 0) + times;
  return {
    faults: [...judge.judge(emitted), ...deaths],
    done,
    emitted: [...emitted.values()].reduce((sum, { size }) => sum + size, 0),
    deliveries: judge.deliveries,
    gaps: Object.fromEntries(judge.gaps),
    resumes: clients.reduce((sum, { counts }) => sum + counts.resumes, 0),
    closes,
    awayMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
  };
}
