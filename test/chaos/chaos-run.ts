import { setTimeout as delay } from 'node:timers/promises';
import { createRandom, type Random } from '../simnet/market/random.ts';
import { until } from '../support/gateway.ts';
import type { ChaosWorld } from './chaos-world.ts';
import { linkFaults, memoryFaults, processFaults } from './faults.ts';
import { Judge } from './judge.ts';
import { Readers, type ReadersReport } from './readers.ts';
import { historyOf, ResumingClient, type FaultKind, type Frame, type ResumingClientOptions, type Subscription } from './resuming-client.ts';
import { settle } from './settle.ts';

export interface ChaosReport {
  /** Empty where nothing was lost in silence, doubled, or invented. */
  readonly faults: readonly string[];
  /** Where there are faults: what they rest on, what happened to every client, and what the processes logged. */
  readonly evidence: readonly string[];
  /** Of those: frames or events. */
  readonly silentGaps: number;
  readonly duplicates: number;
  /** What was done, and how often. */
  readonly done: Readonly<Record<string, number>>;
  readonly emitted: number;
  readonly deliveries: number;
  /** Deliveries that took an event back. */
  readonly retractions: number;
  /** Events that were told in an epoch and again in a later one, which a client tells by their ids. */
  readonly toldAgain: number;
  readonly gapsTold: Readonly<Record<string, number>>;
  readonly resumes: number;
  readonly closes: Readonly<Record<string, number>>;
  readonly awayMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

export interface ChaosOptions {
  readonly seed: string;
  /** With everything but a Redis that forgets: not one gap may be told. */
  readonly durationMs: number;
  /** After that, with a Redis that forgets as well. */
  readonly forgetfulMs: number;
  /** Clients that read all of each event. */
  readonly clients: number;
  /** Processes of light clients, and how many each has. */
  readonly readers: { readonly processes: number; readonly each: number };
  /** What goes wrong, where it is not what `faults.ts` has. */
  readonly plagues?: Plagues;
  /** Told of each fault before it begins. */
  readonly tell: (text: string) => void;
}

/** Faults of each kind follow one another; kinds go on at the same time. */
export interface Plagues {
  /** At first; nothing may be forgotten then. */
  readonly first: typeof processFaults;
  /** After them; each says when something may be forgotten. */
  readonly later: typeof memoryFaults;
  /** Beside both. */
  readonly beside: typeof linkFaults;
  /** As `JudgeOptions` has it. */
  readonly declaredBeforeMs?: number;
}

const chaosPlagues: Plagues = { first: processFaults, later: memoryFaults, beside: linkFaults };

const minSol = 0.5;
const settleWithinMs = 60_000;
/** A busy machine reads a long outage again slowly. Quiet for longer than a round of the gap filler takes to begin. */
const settleTimes = { quietMs: 5_000, giveUpMs: settleWithinMs, atMostMs: 240_000, lookEveryMs: 250 };
/** Longest pause between two faults of a kind. */
const maxPauseMs = 1_500;
const maxMemoryPauseMs = 6_000;
const mintClients = 2;
const mintsEach = 10;

const filtered = 'filtered';
const confirmed = 'confirmed';

const passes = ({ type, solAmount }: Frame['event']): boolean => type !== 'trade' || Number(solAmount) >= minSol;

const allChannels = [{ channel: 'trades' }, { channel: 'newTokens' }, { channel: 'migrations' }] as const;
const kinds: readonly { readonly name: string; readonly subscriptions: readonly Subscription[] }[] = [
  { name: 'all', subscriptions: allChannels },
  { name: 'trades', subscriptions: [{ channel: 'trades' }] },
  { name: filtered, subscriptions: [{ channel: 'trades', filter: { minSol } }] },
  { name: confirmed, subscriptions: allChannels.map((subscription) => ({ ...subscription, commitment: confirmed })) },
];
/** Light clients know no amounts, so none of them filters; most follow all trades. */
const readerKinds = [kinds[0]!, kinds[1]!, kinds[3]!, kinds[1]!, kinds[1]!, kinds[1]!];

const hostsOf = ({ gateways }: ChaosWorld): string[] => gateways.map(({ clients }) => `127.0.0.1:${clients!.port}`);

/** Everybody who listens to the stream, and the judge of them all. */
class Audience {
  readonly judge: Judge;
  readonly clients: ResumingClient[] = [];
  readonly readers: readonly Readers[];
  readonly #world: ChaosWorld;
  readonly #random: Random;
  readonly #seed: string;

  constructor(world: ChaosWorld, { seed, readers, plagues }: ChaosOptions) {
    this.#world = world;
    this.#seed = seed;
    this.#random = createRandom(`${seed} clients`);
    this.judge = new Judge({
      passes,
      declaredBeforeMs: plagues?.declaredBeforeMs,
      partOf: (client) => (client.startsWith(filtered) ? 'passing' : client.startsWith(confirmed) ? 'standing' : 'all'),
    });
    this.readers = Array.from({ length: readers.processes }, (_, at) => new Readers(`readers ${at}`, this.judge));
  }

  /** Resolves when all follow. */
  async come(count: number, readersEach: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const { name, subscriptions } = kinds[at % kinds.length]!;
      this.#add({ name: `${name}-${at}`, format: at % 2 === 0 ? 'json' : 'msgpack', batch: at % 8 > 3, subscriptions });
    }
    this.#addReaders(readersEach, (at) => readerKinds[at % readerKinds.length]!);
    await this.#followed();
  }

  /** Those who follow single coins, once there are some. */
  async comeLate(readersEach: number): Promise<void> {
    await until('some tokens', () => this.judge.mints.length >= mintsEach * mintClients, settleWithinMs);
    const mints = this.judge.mints;
    const some = (at: number): readonly string[] =>
      Array.from({ length: mintsEach }, (_, i) => mints[(at * mintsEach + i) % mints.length]!);
    for (let at = 0; at < mintClients; at++)
      this.#add({ name: `mints-${at}`, format: 'json', batch: at % 2 === 1, subscriptions: [{ channel: 'trades', mints: some(at) }] });
    this.#addReaders(readersEach, (at) => ({
      name: 'mints',
      subscriptions: [
        { channel: 'trades', mints: some(at) },
        { channel: 'prices', mints: some(at) },
      ],
    }));
    await this.#followed();
  }

  restarted(): void {
    this.judge.restarted();
    for (const readers of this.readers) readers.restarted();
  }

  forgot(): void {
    this.judge.forgot();
    for (const readers of this.readers) readers.forgot();
  }

  /** Everybody has everything that happened, as far as it is known here. */
  async isSettled(): Promise<boolean> {
    const { judge, clients } = this;
    if (!clients.every(({ isFollowing }) => isFollowing) || !judge.isWhole(this.#world.emitted) || !judge.isCaughtUp()) return false;
    const reports = await Promise.all(this.readers.map((readers) => readers.judge(judge.ends, { final: false })));
    return reports.every((answer) => answer?.isFollowing === true && answer.isCaughtUp);
  }

  close(): void {
    for (const client of this.clients) client.close();
    for (const readers of this.readers) readers.close();
  }

  #add(options: Pick<ResumingClientOptions, 'name' | 'format' | 'batch' | 'subscriptions'>): void {
    const { apiKey } = this.#world;
    const random = (): number => this.#random.next();
    const client = new ResumingClient({ ...options, hosts: hostsOf(this.#world), apiKey, witness: this.judge, random });
    this.clients.push(client);
    client.start();
  }

  #addReaders(each: number, kindOf: (at: number) => (typeof kinds)[number]): void {
    for (const [at, process] of this.readers.entries()) {
      const readers = Array.from({ length: each }, (_, i) => {
        const { name, subscriptions } = kindOf(at * each + i);
        return { name: `${name}-reader-${at}-${i}`, subscriptions };
      });
      process.follow({ hosts: hostsOf(this.#world), apiKey: this.#world.apiKey, seed: `${this.#seed} ${at}`, readers });
    }
  }

  async #followed(): Promise<void> {
    const all = (): boolean => [...this.clients, ...this.readers].every(({ isFollowing }) => isFollowing);
    await until('all clients to follow', all, settleWithinMs);
  }
}

interface Plague {
  readonly random: Random;
  readonly endMs: number;
  readonly pauseMs: number;
  readonly first?: string;
  readonly note: (kind: string, name: string) => void;
}

/** Does one fault after the other until the time is over: `first` in any case, where it is given, or else one of them. */
async function plague(world: ChaosWorld, makes: typeof linkFaults, { random, endMs, pauseMs, first, note }: Plague): Promise<void> {
  const names = Object.keys(makes);
  // Each kind once, in an order of the seed, before any comes again.
  let line: string[] = first === undefined ? [] : [first];
  do {
    if (line.length === 0)
      line = names
        .map((kind) => ({ kind, at: random.next() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ kind }) => kind);
    const kind = line.shift()!;
    const fault = makes[kind]!(world, random);
    note(kind, fault.name);
    await fault.run();
    await delay(random.below(pauseMs));
  } while (performance.now() < endMs);
}

/** What happened before a Redis first forgets is waited for, so long at most: then the judge says that it is missing. */
const caughtUpWithinMs = 60_000;

/** Faults after which the log goes on whole, in a new epoch. */
const continuing = new Set(['Redis killed', 'Redis handed over']);

/** Lets all of it go wrong for a time, then lets everything come to rest, and judges. */
export async function runChaos(world: ChaosWorld, options: ChaosOptions): Promise<ChaosReport> {
  const { seed, durationMs, forgetfulMs, clients, readers, plagues = chaosPlagues, tell } = options;
  const audience = new Audience(world, options);
  const done: Record<string, number> = {};
  const startedAtMs = performance.now();
  const note = (kind: string, name: string): void => {
    done[kind] = (done[kind] ?? 0) + 1;
    if (continuing.has(kind)) audience.restarted();
    tell(`${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s: ${kind}: ${name}`);
  };
  try {
    await audience.come(clients, readers.each);
    world.simnet.chain.start();
    await audience.comeLate(Math.ceil(readers.each / 10));
    const forgetsAtMs = performance.now() + durationMs;
    const way = (name: string, endMs: number, pauseMs = maxPauseMs) => ({ random: createRandom(`${seed} ${name}`), endMs, pauseMs, note });
    const inProcesses = async (): Promise<void> => {
      await plague(world, plagues.first, way('processes', forgetsAtMs));
      // What is read late goes with a memory that is lost then, and the judge could not tell that from a fault.
      const firstMs = performance.now();
      while (!audience.judge.hasAll(world.emitted, firstMs) && performance.now() < firstMs + caughtUpWithinMs) await delay(1_000);
      const forget = (): void => audience.forgot();
      await plague(world, plagues.later(forget), way('memory', forgetsAtMs + forgetfulMs, maxMemoryPauseMs));
    };
    await Promise.all([inProcesses(), plague(world, plagues.beside, { ...way('links', forgetsAtMs + forgetfulMs), first: 'fork' })]);
    await world.sighted();
    await delay(1_000);
    world.rest();
    await settle({ isSettled: () => audience.isSettled(), frames: () => audience.judge.frames }, settleTimes);
    return await report(world, audience, done);
  } finally {
    world.simnet.chain.stop();
    audience.close();
  }
}

/** What is missing or wrong at the end is what the judges say. */
async function report(
  { emitted, deaths, journal }: ChaosWorld,
  { judge, clients, readers }: Audience,
  done: Record<string, number>,
): Promise<ChaosReport> {
  const answers = await Promise.all(readers.map((process) => process.judge(judge.ends, { final: true })));
  const others = answers.filter((answer) => answer !== null);
  const faults = judge.judge(emitted);
  const { toldAgain } = judge;
  const silent = answers.length === others.length ? [] : [`${answers.length - others.length} processes of readers gave no answer`];
  const sum = (own: number, of: (report: ReadersReport) => number): number => others.reduce((total, answer) => total + of(answer), own);
  const count = (kind: FaultKind): number => sum(judge.counts[kind], ({ counts }) => counts[kind]);
  const away = [...clients, ...others].flatMap(({ awayMs }) => awayMs).toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round(away[Math.min(away.length - 1, Math.floor(away.length * share))] ?? 0);
  const all = [...faults, ...others.flatMap((answer) => answer.faults), ...deaths, ...silent];
  const clientLines = [...clients.flatMap(historyOf), ...others.flatMap((answer) => answer.evidence)];
  return {
    faults: all,
    evidence: all.length === 0 ? [] : [...all, ...judge.describeLogs(), ...judge.evidence, ...clientLines, ...journal()],
    silentGaps: count('gap'),
    duplicates: count('double'),
    done,
    emitted: [...emitted.values()].reduce((total, { size }) => total + size, 0),
    deliveries: sum(judge.deliveries, ({ deliveries }) => deliveries),
    retractions: sum(judge.retractions, ({ retractions }) => retractions),
    toldAgain,
    gapsTold: tally([Object.fromEntries(judge.gaps), ...others.map(({ gaps }) => gaps)]),
    resumes: sum(
      clients.reduce((total, { counts }) => total + counts.resumes, 0),
      ({ resumes }) => resumes,
    ),
    closes: tally([...clients.map(({ closes }) => Object.fromEntries(closes)), ...others.map(({ closes }) => closes)]),
    awayMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
  };
}

function tally(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const [name, times] of counts.flatMap((some) => Object.entries(some))) all[name] = (all[name] ?? 0) + times;
  return all;
}
