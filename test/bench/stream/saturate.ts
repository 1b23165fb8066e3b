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
const stepMs = 3_000;
/** The interval whose events are published together. */
const burstMs = 5;
/**
 * The connections, the highest p99 of the latency, and the number of runs. One write to each of 10,000 connections takes a core 70 to
 * 200 ms, so with a limit of 200 ms the machine alone would decide the result there. Runs with so many connections differ by more than half,
 * so there are more of them.
 */
const loads = [
  { connections: 1_000, slowestP99Ms: 200, turns: 3 },
  { connections: 10_000, slowestP99Ms: 500, turns: 7 },
] as const;
/** A step whose events have not all arrived after this time exceeds the limit. */
const arrivalMs = 3_000;
/** The rate is raised by this factor until a step exceeds the limit, and then bisected this many times. */
const raise = 1.5;
const bisections = 4;

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
  const json = Buffer.from(`${head}${published},"padding":"${padding}"}`);
  return { topics: ['trades'], json, msgpack: json };
}

/** True if every connection received every event of the step, with a p99 within the limit, and none was closed. */
async function sustains(load: Load, subject: Subject, eventsPerSecond: number, slowestP99Ms: number): Promise<boolean> {
  const { events: before } = await load.mark();
  const sent = watched * (await play(stepMs, eventsPerSecond, burstMs, subject.publish, makeEvent));
  const latencyMs: number[] = [];
  for (const endMs = performance.now() + arrivalMs; performance.now() < endMs; await delay(20)) {
    const count = await load.count();
    latencyMs.push(...count.latencyMs);
    if (count.closed > 0 || count.events - before > sent) return false;
    // Heartbeats differ, by less than an event.
    const isComplete = count.events - before === sent && count.mostBytes - count.fewestBytes < eventLength;
    if (isComplete) return percentile(latencyMs, 0.99) <= slowestP99Ms;
  }
  return false;
}

/** The highest sustained rate of a server, in deliveries per second. Every failed step gets a new server. */
async function highestRate(
  program: string,
  start: () => Promise<Subject>,
  options: string,
  { connections, slowestP99Ms }: SaturatingLoad,
): Promise<number> {
  let rig: { readonly subject: Subject; readonly load: Load } | null = null;
  const stopRig = async (): Promise<void> => {
    await rig?.load.stop();
    await rig?.subject.stop();
    rig = null;
  };
  const attempt = async (eventsPerSecond: number): Promise<boolean> => {
    if (rig === null) {
      const subject = await start();
      rig = { subject, load: await startLoad(program, subject, subject.path + options, connections) };
      await sustains(rig.load, subject, 100_000 / connections, slowestP99Ms);
    }
    const sustained = await sustains(rig.load, rig.subject, eventsPerSecond, slowestP99Ms);
    if (!sustained) await stopRig();
    return sustained;
  };
  let sustained = 0;
  let exceeded = 1_000_000 / connections;
  while (await attempt(exceeded)) {
    sustained = exceeded;
    exceeded *= raise;
  }
  for (let i = 0; i < bisections; i++) {
    const middle = (sustained + exceeded) / 2;
    if (await attempt(middle)) sustained = middle;
    else exceeded = middle;
  }
  await stopRig();
  return sustained * connections;
}

const millions = (value: number): string => `${(value / 1e6).toFixed(2)} M`;

/**
 * The median of the ratios, each to the forwarder's run in the same turn. The speed of a machine changes from minute to minute, by a factor of up to
 * two, so only runs of one turn can be compared.
 */
function ratioOf(values: readonly number[], reference: readonly number[]): number {
  const ratios = values.map((value, turn) => value / reference[turn]!).toSorted((a, b) => a - b);
  return ratios[ratios.length >> 1]!;
}

async function rowsOf(stage: Stage, program: string, saturating: SaturatingLoad): Promise<BenchRow[]> {
  const [own, batched, reference]: [number[], number[], number[]] = [[], [], []];
  for (let turn = 0; turn < saturating.turns; turn++) {
    reference.push(await highestRate(program, () => stage.startReference(0), '', saturating));
    own.push(await highestRate(program, () => stage.startGateway(), '', saturating));
    batched.push(await highestRate(program, () => stage.startGateway(), '&batch=1', saturating));
  }
  const row = (name: string, figures: readonly number[], target: number): BenchRow => {
    const ratio = ratioOf(figures, reference);
    const all = (values: readonly number[]): string => values.map(millions).join(', ');
    return {
      name: `Maximum fan-out, ${saturating.connections.toLocaleString('en')} connections${name}`,
      figure: `up to ${millions(Math.max(...figures))} deliveries/s, ${ratio.toFixed(2)} x the smallest forwarder`,
      target: `≥ ${target} x`,
      pass: ratio >= target,
      note: `events of ${eventLength} bytes, sent in bursts every ${burstMs} ms; highest rate at which p99 ≤ ${saturating.slowestP99Ms} ms; ${saturating.turns} runs (${all(figures)}), each after one of the forwarder (${all(reference)}); the ratio is the median`,
    };
  };
  return [row('', own, 1), row(', `?batch=1`', batched, 1.3)];
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
      for (const load of loads) rows.push(...(await rowsOf(stage, program, load)));
      return rows;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
