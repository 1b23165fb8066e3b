import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../simnet/market/random.ts';
import { brokenAnswers, falseAnswers, hugeAnswers, type HttpLie } from './lies.ts';
import type { RunningProgram } from '../support/processes.ts';
import { ArmedTriggers, type ArmedCounts } from './armed.ts';
import { Load, type LoadCounts } from './load.ts';
import type { GrpcLie } from '../support/servers/grpc.ts';
import { grpcLies } from './grpc-lies.ts';
import { brokenFrames, falseFrames, falseMarkets, type PubsubLie } from './pubsub-lies.ts';
import { Judge } from './truth.ts';
import { openLiarsWorld, type LiarsWorld } from './world.ts';

export interface LiarsOptions {
  readonly seed: string;
  /** Number of endpoints; one of them lies. */
  readonly endpoints: number;
  readonly wallets: number;
  readonly durationMs: number;
  /** How long one lie lasts. */
  readonly lieMs: number;
  readonly maxAnswerMs: number;
  /** How long after a true trade the orders of its triggers may come. */
  readonly maxFiringMs: number;
  readonly print: (text: string) => void;
}

export interface LiarsReport extends LoadCounts, ArmedCounts {
  readonly faults: readonly string[];
  readonly lies: number;
  readonly mostResidentMiB: number;
  readonly liar: number;
}

/** The process may never use more resident memory than this. */
const maxResidentMiB = 512;
const sampleEveryMs = 250;
/** In the last part of the time the liar also breaks rules that get it excluded. */
const politeShare = 0.7;
const settleWithinMs = 60_000;
/** How much longer it continues if the liar was not reported yet, or no order was accepted. */
const showsWithinMs = 60_000;
const mebibyte = 1_024 * 1_024;

interface Scene {
  readonly name: string;
  readonly http: HttpLie | null;
  readonly pubsub: PubsubLie | null;
  readonly grpc: GrpcLie | null;
}

const truth = { http: null, pubsub: null, grpc: null } as const;
const scenesOf = (http: Readonly<Record<string, HttpLie>>, pubsub: Readonly<Record<string, PubsubLie>>): Scene[] => [
  ...Object.entries(http).map(([name, answers]) => ({ ...truth, name, http: answers })),
  ...Object.entries(pubsub).map(([name, answers]) => ({ ...truth, name: `PubSub: ${name}`, pubsub: answers })),
];

/** One endpoint lies for a time, in one way after the other, while orders, streams and reads continue. */
export async function runLiars(options: LiarsOptions): Promise<LiarsReport> {
  const { seed, endpoints, wallets, durationMs } = options;
  const world = await openLiarsWorld({ seed, endpoints, wallets });
  const random = createRandom(`${seed} liar`);
  const liar = random.below(endpoints);
  const judge = new Judge(world);
  const load = new Load(world, judge, options.maxAnswerMs);
  const armed = new ArmedTriggers(world, judge, createRandom(`${seed} triggers`), options.maxFiringMs, () => load.counts.orders);
  let mostResident = 0;
  const sampler = setInterval(() => (mostResident = Math.max(mostResident, world.residentBytes())), sampleEveryMs);
  try {
    const running = Promise.all([load.run(), armed.run()]);
    // What nobody is armed against shows nothing.
    await Promise.race([armed.areArmed, running]);
    const lied = await Promise.race([
      lie(world, liar, judge, load, options),
      running.then(() => Promise.reject(new Error('the load has ended'))),
    ]);
    load.end();
    armed.end();
    await running;
    const withinMs = Math.max(settleWithinMs, durationMs / 10);
    const triggered = await armed.judged(withinMs);
    judge.end(await load.stored(withinMs), triggered);
    if (mostResident > maxResidentMiB * mebibyte) judge.fault(`${Math.round(mostResident / mebibyte)} MiB were resident`);
    judgeReports(world, liar, judge);
    const mostResidentMiB = Math.round(mostResident / mebibyte);
    return { ...load.counts, ...armed.counts, faults: judge.faults, lies: lied, mostResidentMiB, liar: liar + 1 };
  } finally {
    clearInterval(sampler);
    load.close();
    await world.close();
  }
}

/** How many lies were sent. */
async function lie(world: LiarsWorld, liar: number, judge: Judge, load: Load, options: LiarsOptions): Promise<number> {
  const { endpoints, program } = world;
  const { seed, durationMs, lieMs, print } = options;
  const random = createRandom(`${seed} lies`);
  const endpoint = endpoints[liar]!;
  const beganAtMs = performance.now();
  let lies = 0;
  const tell = ({ http, pubsub, grpc }: Omit<Scene, 'name'>): void => {
    [endpoint.httpLie, endpoint.pubsubLie] = [http, pubsub];
    if (endpoint.grpc !== null) endpoint.grpc.lie = grpc;
  };
  const run = async (scenes: Scene[], untilMs: number, first: readonly Scene[] = []): Promise<void> => {
    const next = [...first];
    for (let left: Scene[] = []; performance.now() < untilMs; lies++) {
      if (left.length === 0) left = [...scenes];
      const [scene] = next.length > 0 ? next.splice(0, 1) : left.splice(random.below(left.length), 1);
      tell(scene!);
      judge.lie = scene!.name;
      print(`endpoint ${liar + 1}: ${scene!.name}`);
      await delay(Math.min(lieMs, Math.max(0, untilMs - performance.now())));
    }
  };
  const byGrpc = endpoint.grpc === null ? {} : grpcLies(createRandom(`${seed} gRPC lies`));
  const polite = [
    ...scenesOf({ ...falseAnswers, ...brokenAnswers }, { ...falseFrames, ...falseMarkets }),
    ...Object.entries(byGrpc).map(([name, grpc]) => ({ ...truth, name: `gRPC: ${name}`, grpc })),
  ];
  // A short run has not enough time for all of them.
  await run(polite, beganAtMs + durationMs * politeShare, scenesOf({}, falseMarkets));
  const crude = scenesOf(hugeAnswers, brokenFrames);
  await run(crude, beganAtMs + durationMs);
  // On a busy machine few of these lies were sent until now. With two endpoints, most orders are refused.
  const shows = (): boolean => unreported(program, liar).length === 0 && (endpoints.length === 2 || load.counts.orders > 0);
  for (const endMs = performance.now() + showsWithinMs; !shows() && performance.now() < endMs;) await run(crude, performance.now() + lieMs);
  tell(truth);
  judge.lie = 'no lie';
  return lies;
}

const reports = ['rpc_endpoint_suspended', 'endpoint_dropped'] as const;

/** Endpoints, by number, that this log event names. */
function namedIn({ log }: RunningProgram, event: string): ReadonlySet<unknown> {
  return new Set(log.flatMap(({ msg, ...line }) => (msg === event ? [line['endpoint']] : [])));
}

function unreported(program: RunningProgram, liar: number): readonly string[] {
  return reports.filter((event) => !namedIn(program, event).has(liar + 1));
}

/** The log names the endpoint that broke the rules, and no other. */
function judgeReports({ program }: LiarsWorld, liar: number, judge: Judge): void {
  for (const event of unreported(program, liar)) judge.fault(`${event} does not name the endpoint ${liar + 1}`);
  for (const event of reports)
    for (const other of namedIn(program, event))
      if (other !== liar + 1) judge.fault(`${event} names the endpoint ${String(other)}, which is honest`);
}
