import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import type { BenchRow } from '../row.ts';
import { percentile, play } from './stream-rig.ts';
import { end } from '../children.ts';
import { onStage, type Stage, type Subject } from './stream-stage.ts';

/** Connections whose events the load client counts. */
const watched = 16;
/** Length of an event in JSON. */
const eventLength = 356;
const stepMs = 2_000;
/** The interval whose events are published together. */
const burstMs = 5;
/**
 * The connections, and the highest p99 of the latency. One write to each of 10,000 connections takes a core 70 to 200 ms, so with a limit
 * of 200 ms the machine alone would decide the result there.
 */
const loads = [
  { connections: 1_000, slowestP99Ms: 200 },
  { connections: 10_000, slowestP99Ms: 500 },
] as const;
/** A step whose events have not all arrived after this time exceeds the limit. */
const arrivalMs = 3_000;
/** Until a step exceeds the limit, each step raises the rate by this factor. The step that exceeds it goes back by half of that. */
const firstRaise = 1.5;
/** After that, a step that is sustained raises the rate by this factor, and any other step lowers it by this factor. */
const raise = 1.06;
/** Turns of each server, and the counted steps of a turn. The steps before them let the rate find its level. */
const [turns, stepsOfTurn, stepsBefore] = [6, 6, 3];

interface Count {
  readonly fewestBytes: number;
  readonly mostBytes: number;
  readonly closed: number;
  readonly events: number;
  readonly latencyMs: readonly number[];
}

type SaturatingLoad = (typeof loads)[number];

interface Load {
  /** The bytes are those since the last mark. */
  count(): Promise<Count>;
  mark(): Promise<Count>;
  stop(): Promise<void>;
}

/** Compiles the load client; null without a C compiler. */
function compileClient(folder: string): string | null {
  const program = join(folder, 'load-client');
  const source = fileURLToPath(new URL('load-client.c', import.meta.url));
  return spawnSync('cc', ['-O2', '-o', program, source]).status === 0 ? program : null;
}

/** A server, and the clients that load it. */
interface Rig {
  readonly subject: Subject;
  readonly load: Load;
}

async function startLoad(program: string, subject: Subject, path: string, connections: number): Promise<Load> {
  const args = [String(subject.server.port), path, String(connections), '{"id":1,"op":"subscribe","channel":"trades"}'];
  const client: ChildProcessByStdio<Writable, Readable, null> = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(client.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const line = await lines.next();
    if (line.done === true) throw new Error('the load client ended');
    return line.value;
  };
  await next();
  const ask = async (command: 'count' | 'mark'): Promise<Count> => {
    client.stdin.write(`${command}\n`);
    const [fewestBytes, mostBytes, closed, events, ...latencyUs] = (await next()).split(' ').map(Number);
    return {
      fewestBytes: fewestBytes!,
      mostBytes: mostBytes!,
      closed: closed!,
      events: events!,
      latencyMs: latencyUs.map((us) => us / 1_000),
    };
  };
  return {
    count: () => ask('count'),
    mark: () => ask('mark'),
    stop: () => end(client),
  };
}

function makeEvent(): BusEntry {
  const head = '{"type":"trade","published":';
  const published = String(Math.round((performance.timeOrigin + performance.now()) * 1_000));
  const padding = 'x'.repeat(eventLength - head.length - published.length - ',"padding":""}'.length);
  const record = Buffer.from(`${head}${published},"padding":"${padding}"}`);
  return { topics: ['trades'], record };
}

/** `slow`: every event arrived, but the p99 exceeds the limit. `incomplete`: events are missing, or connections were closed. */
type Outcome = 'sustained' | 'slow' | 'incomplete';

async function playStep({ subject, load }: Rig, eventsPerSecond: number, slowestP99Ms: number): Promise<Outcome> {
  const { events: before } = await load.mark();
  const sent = watched * (await play(stepMs, eventsPerSecond, burstMs, subject.publish, makeEvent));
  const latencyMs: number[] = [];
  for (const endMs = performance.now() + arrivalMs; performance.now() < endMs; await delay(20)) {
    const count = await load.count();
    latencyMs.push(...count.latencyMs);
    if (count.closed > 0 || count.events - before > sent) return 'incomplete';
    // Heartbeats differ, by less than an event.
    const isComplete = count.events - before === sent && count.mostBytes - count.fewestBytes < eventLength;
    if (isComplete) return percentile(latencyMs, 0.99) <= slowestP99Ms ? 'sustained' : 'slow';
  }
  return 'incomplete';
}

/** A server whose publish rate follows its limit. It is started for each turn, and again after an incomplete step. */
class Staircase {
  readonly #start: () => Promise<Rig>;
  readonly #load: SaturatingLoad;
  /** Events per second of the next step. */
  #rate: number;
  #rig: Rig | null = null;
  /** Whether a step has exceeded the limit. */
  #hasExceeded = false;

  constructor(start: () => Promise<Rig>, load: SaturatingLoad) {
    this.#start = start;
    this.#load = load;
    this.#rate = 1_000_000 / load.connections;
  }

  /** Plays the steps of a turn. Returns the rates of the counted ones, in deliveries per second. */
  async turn(): Promise<readonly number[]> {
    try {
      while (!this.#hasExceeded) await this.#step();
      for (let i = 0; i < stepsBefore; i++) await this.#step();
      const rates: number[] = [];
      for (let i = 0; i < stepsOfTurn; i++) rates.push(await this.#step());
      return rates;
    } finally {
      await this.#stop();
    }
  }

  async #step(): Promise<number> {
    const { connections, slowestP99Ms } = this.#load;
    if (this.#rig === null) {
      this.#rig = await this.#start();
      await playStep(this.#rig, 100_000 / connections, slowestP99Ms);
    }
    const rate = this.#rate;
    const outcome = await playStep(this.#rig, rate, slowestP99Ms);
    if (outcome === 'sustained') this.#rate *= this.#hasExceeded ? raise : firstRaise;
    else {
      this.#rate /= this.#hasExceeded ? raise : Math.sqrt(firstRaise);
      this.#hasExceeded = true;
    }
    if (outcome === 'incomplete') await this.#stop();
    return rate * connections;
  }

  async #stop(): Promise<void> {
    await this.#rig?.load.stop();
    await this.#rig?.subject.stop();
    this.#rig = null;
  }
}

const geometricMean = (values: readonly number[]): number =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

interface Comparison {
  /** Deliveries per second. */
  readonly own: number;
  readonly forwarder: number;
  /** Of each pair of turns. */
  readonly ratios: readonly number[];
}

/**
 * The servers take turns of half a minute, each with its rate from the turn before. The speed of a machine changes from minute to minute, by a
 * factor of up to two. If the runs were longer, the machine would decide their ratio.
 */
async function compare(stage: Stage, program: string, options: string, load: SaturatingLoad): Promise<Comparison> {
  const staircase = (startServer: () => Promise<Subject>, ownOptions: string): Staircase =>
    new Staircase(async () => {
      const subject = await startServer();
      return { subject, load: await startLoad(program, subject, subject.path + ownOptions, load.connections) };
    }, load);
  const servers = { own: staircase(() => stage.startGateway(), options), forwarder: staircase(() => stage.startReference(0), '') };
  const rates: { readonly own: number; readonly forwarder: number }[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const rate: Record<'own' | 'forwarder', number> = { own: 0, forwarder: 0 };
    const order = turn % 2 === 0 ? (['forwarder', 'own'] as const) : (['own', 'forwarder'] as const);
    for (const name of order) rate[name] = geometricMean(await servers[name].turn());
    rates.push(rate);
  }
  return {
    own: geometricMean(rates.map((rate) => rate.own)),
    forwarder: geometricMean(rates.map((rate) => rate.forwarder)),
    ratios: rates.map((rate) => rate.own / rate.forwarder),
  };
}

const millions = (value: number): string => `${(value / 1e6).toFixed(2)} M`;

async function rowOf(stage: Stage, program: string, options: string, target: number, load: SaturatingLoad): Promise<BenchRow> {
  const { own, forwarder, ratios } = await compare(stage, program, options, load);
  const name = options === '' ? '' : ', `?batch=1`';
  const ratio = own / forwarder;
  return {
    name: `Maximum fan-out, ${load.connections.toLocaleString('en')} connections${name}`,
    figure: `${millions(own)} deliveries/s, ${ratio.toFixed(2)} x the smallest forwarder`,
    target: `≥ ${target} x`,
    pass: ratio >= target,
    note: `the forwarder: ${millions(forwarder)}; events of ${eventLength} bytes, sent in bursts every ${burstMs} ms; rate at which half of the steps have p99 ≤ ${load.slowestP99Ms} ms; ${turns} turns of each server, with ${stepsOfTurn} steps; ratios of the turns: ${ratios.map((one) => one.toFixed(2)).join(', ')}`,
  };
}

/** The rate at which the gateway saturates one core, next to the smallest program that forwards Redis messages. */
export async function run(): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-load-client-'));
  try {
    const program = compileClient(folder);
    if (program === null) {
      const [figure, target] = ['skipped: no C compiler (`cc`) here', '≥ 1 x'];
      return [{ name: 'Maximum fan-out', figure, target, pass: true }];
    }
    return await onStage(async (stage) => {
      const rows: BenchRow[] = [];
      for (const load of loads) {
        rows.push(await rowOf(stage, program, '', 1, load));
        rows.push(await rowOf(stage, program, '&batch=1', 1.3, load));
      }
      return rows;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
