import { setTimeout as delay } from 'node:timers/promises';
import { createRandom, type Random } from '../simnet/market/random.ts';
import { until } from '../support/gateway.ts';
import type { ChaosWorld } from './chaos-world.ts';
import { linkFaults, memoryFaults, processFaults } from './faults.ts';
import { Judge } from './judge.ts';
import { LibraryClient } from './library-client.ts';
import { Readers, type ReadersReport } from './readers.ts';
import { historyOf, ResumingClient, type FaultKind, type Frame, type ResumingClientOptions, type Subscription } from './resuming-client.ts';
import { catchUp, settle } from './settle.ts';

export interface ChaosReport {
  /** Empty if nothing was lost without notice, repeated, or invented. */
  readonly faults: readonly string[];
  /** If there are faults: the frames behind them, what happened to every client, and what the processes logged. */
  readonly evidence: readonly string[];
  /** Of those: frames or events. */
  readonly silentGaps: number;
  readonly duplicates: number;
  /** The faults that were caused, and how often. */
  readonly done: Readonly<Record<string, number>>;
  readonly emitted: number;
  readonly deliveries: number;
  /** Retractions that clients received. */
  readonly retractions: number;
  /** Events that were published in one epoch and again in a later one. A client recognises them by their ids. */
  readonly publishedAgain: number;
  readonly gapsReported: Readonly<Record<string, number>>;
  readonly resumes: number;
  readonly closes: Readonly<Record<string, number>>;
  readonly disconnectedMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

export interface ChaosOptions {
  readonly seed: string;
  /** With every fault except a Redis that loses its memory: no gap may be reported. */
  readonly durationMs: number;
  /** After that, also with a Redis that loses its memory. */
  readonly forgetfulMs: number;
  /** Clients that parse each event completely. */
  readonly clients: number;
  /** Processes of light clients, and how many clients each has. */
  readonly readers: { readonly processes: number; readonly each: number };
  /** The faults to cause, if not those of `faults.ts`. */
  readonly plagues?: Plagues;
  /** Called for each fault before it begins. */
  readonly print: (text: string) => void;
}

/** Faults of one kind follow one another; faults of different kinds happen at the same time. */
export interface Plagues {
  /** In the first phase: nothing may be lost. */
  readonly first: typeof processFaults;
  /** In the second phase: each fault reports when something may be lost. */
  readonly later: typeof memoryFaults;
  /** In both phases. */
  readonly throughout: typeof linkFaults;
  /** See `JudgeOptions`. */
  readonly declaredBeforeMs?: number;
}

const chaosPlagues: Plagues = { first: processFaults, later: memoryFaults, throughout: linkFaults };

const minSol = 0.5;
/** On an idle machine, twenty coins take twenty seconds. */
const comeWithinMs = 300_000;
/**
 * A busy machine takes long to read what it missed in an outage. The quiet time is longer than a round of the gap filler takes to begin.
 */
const settleTimes = { quietMs: 5_000, giveUpMs: 120_000, atMostMs: 240_000, lookEveryMs: 250 };
/**
 * No fault begins while clients are further behind the chain than this. On a machine that works off what it missed, they never are. Events
 * that are read later than that may be lost with the memory of a Redis, and a node forgets them in the end. The judge could not distinguish
 * that from a fault.
 */
const mayLagMs = 20_000;
const catchUpTimes = { restAfterMs: mayLagMs, atMostMs: 240_000, lookEveryMs: 1_000 };
/** Longest pause between two faults of a kind. */
const maxPauseMs = 1_500;
const maxMemoryPauseMs = 6_000;
const mintClients = 2;
const mintsEach = 10;
/** Applications that use the client library. */
const libraryClients = 3;

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
/** Light clients do not read amounts, so none of them filters; most follow all trades. */
const readerKinds = [kinds[0]!, kinds[1]!, kinds[3]!, kinds[1]!, kinds[1]!, kinds[1]!];

const hostsOf = ({ gateways }: ChaosWorld): string[] => gateways.map(({ clients }) => `127.0.0.1:${clients!.port}`);

/** All clients of the stream, and the judge of all of them. */
class Audience {
  readonly judge: Judge;
  readonly clients: ResumingClient[] = [];
  readonly applications: LibraryClient[] = [];
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
      partOf: (client) => (client.startsWith(filtered) ? 'passing' : client.startsWith(confirmed) ? 'valid' : 'all'),
    });
    this.readers = Array.from({ length: readers.processes }, (_, at) => new Readers(`readers ${at}`, this.judge));
  }

  /** Resolves when all clients follow their topics. */
  async come(count: number, readersEach: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const { name, subscriptions } = kinds[at % kinds.length]!;
      this.#add({ name: `${name}-${at}`, format: at % 2 === 0 ? 'json' : 'msgpack', batch: at % 8 > 3, subscriptions });
    }
    const onFault = this.judge.onFault.bind(this.judge);
    const hosts = hostsOf(this.#world);
    for (let at = 0; at < libraryClients; at++) {
      const turned = [...hosts.slice(at % hosts.length), ...hosts.slice(0, at % hosts.length)];
      this.applications.push(new LibraryClient(`library-${at}`, turned, this.#world.apiKey, onFault));
    }
    this.#addReaders(readersEach, (at) => readerKinds[at % readerKinds.length]!);
    await this.#followed();
  }

  /** Starts the clients that follow single coins, once there are some coins. */
  async comeLate(readersEach: number): Promise<void> {
    await until('some tokens', () => this.judge.mints.length >= mintsEach * mintClients, comeWithinMs);
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

  /** Whether all clients have everything that has happened so far. */
  async isSettled(): Promise<boolean> {
    const { judge, clients, applications } = this;
    if (!applications.every((application) => application.isFollowing && application.isWhole(this.#world.emitted))) return false;
    if (!clients.every(({ isFollowing }) => isFollowing) || !judge.isWhole(this.#world.emitted) || !judge.isCaughtUp()) return false;
    const reports = await Promise.all(this.readers.map((readers) => readers.judge(judge.ends, { final: false })));
    return reports.every((answer) => answer?.isFollowing === true && answer.isCaughtUp);
  }

  close(): void {
    for (const client of this.clients) client.close();
    for (const application of this.applications) application.close();
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
    const all = (): boolean => [...this.clients, ...this.applications, ...this.readers].every(({ isFollowing }) => isFollowing);
    await until('all clients to follow', all, comeWithinMs);
  }
}

interface Plague {
  /** Resolves when clients have everything that happened up to a time. */
  readonly caughtUp: (untilMs: number) => Promise<void>;
  readonly random: Random;
  readonly endMs: number;
  readonly pauseMs: number;
  readonly first?: string;
  readonly note: (kind: string, name: string) => void;
}

/** Causes one fault after the other until the time is over: first `first` if it is given, then any of them. */
async function plague(world: ChaosWorld, makes: typeof linkFaults, options: Plague): Promise<void> {
  const { caughtUp, random, endMs, pauseMs, first, note } = options;
  const names = Object.keys(makes);
  // Each kind occurs once, in an order that depends on the seed, before any is repeated.
  let line: string[] = first === undefined ? [] : [first];
  do {
    if (line.length === 0)
      line = names
        .map((kind) => ({ kind, at: random.next() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ kind }) => kind);
    const kind = line.shift()!;
    await caughtUp(performance.now() - mayLagMs);
    const fault = makes[kind]!(world, random);
    note(kind, fault.name);
    await fault.run();
    await delay(random.below(pauseMs));
  } while (performance.now() < endMs);
}

/** Faults after which the log continues completely, in a new epoch. */
const continuing = new Set(['Redis killed', 'Redis handed over']);

/** Causes faults for a time, then waits until everything is quiet, and judges. */
export async function runChaos(world: ChaosWorld, options: ChaosOptions): Promise<ChaosReport> {
  const { seed, durationMs, forgetfulMs, clients, readers, plagues = chaosPlagues, print } = options;
  const audience = new Audience(world, options);
  const done: Record<string, number> = {};
  const startedAtMs = performance.now();
  const note = (kind: string, name: string): void => {
    done[kind] = (done[kind] ?? 0) + 1;
    if (continuing.has(kind)) audience.restarted();
    print(`${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s: ${kind}: ${name}`);
  };
  try {
    await audience.come(clients, readers.each);
    world.simnet.chain.start();
    await audience.comeLate(Math.ceil(readers.each / 10));
    const forgetsAtMs = performance.now() + durationMs;
    const caughtUp = (untilMs: number): Promise<void> =>
      catchUp({ hasAll: (ms) => audience.judge.hasAll(world.emitted, ms), rest: world.rest }, untilMs, catchUpTimes);
    const way = (name: string, endMs: number, pauseMs = maxPauseMs): Plague => {
      return { caughtUp, random: createRandom(`${seed} ${name}`), endMs, pauseMs, note };
    };
    const inProcesses = async (): Promise<void> => {
      await plague(world, plagues.first, way('processes', forgetsAtMs));
      await caughtUp(performance.now());
      const forget = (): void => audience.forgot();
      await plague(world, plagues.later(forget), way('memory', forgetsAtMs + forgetfulMs, maxMemoryPauseMs));
    };
    await Promise.all([inProcesses(), plague(world, plagues.throughout, { ...way('links', forgetsAtMs + forgetfulMs), first: 'fork' })]);
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

/** The judges report what is missing or wrong at the end. */
async function report(
  { emitted, deaths, journal }: ChaosWorld,
  { judge, clients, applications, readers }: Audience,
  done: Record<string, number>,
): Promise<ChaosReport> {
  const answers = await Promise.all(readers.map((process) => process.judge(judge.ends, { final: true })));
  const others = answers.filter((answer) => answer !== null);
  for (const application of applications) application.judge(emitted);
  const faults = judge.judge(emitted);
  const { publishedAgain } = judge;
  const silent = answers.length === others.length ? [] : [`${answers.length - others.length} processes of readers gave no answer`];
  const sum = (own: number, of: (report: ReadersReport) => number): number => others.reduce((total, answer) => total + of(answer), own);
  const count = (kind: FaultKind): number => sum(judge.counts[kind], ({ counts }) => counts[kind]);
  const disconnected = [...clients, ...others].flatMap(({ disconnectedMs }) => disconnectedMs).toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(disconnected[Math.min(disconnected.length - 1, Math.floor(disconnected.length * share))] ?? 0);
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
    publishedAgain,
    gapsReported: tally([Object.fromEntries(judge.gaps), ...others.map(({ gaps }) => gaps)]),
    resumes: sum(
      clients.reduce((total, { counts }) => total + counts.resumes, 0),
      ({ resumes }) => resumes,
    ),
    closes: tally([...clients.map(({ closes }) => Object.fromEntries(closes)), ...others.map(({ closes }) => closes)]),
    disconnectedMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
  };
}

function tally(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const [name, times] of counts.flatMap((some) => Object.entries(some))) all[name] = (all[name] ?? 0) + times;
  return all;
}
