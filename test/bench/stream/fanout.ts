import { setTimeout as delay } from 'node:timers/promises';
import { addressOf } from '../../support/events/stream-events.ts';
import type { LoadOrder } from './load-client.ts';
import type { BenchRow } from '../row.ts';
import { cpuUs, pace, residentBytes, startLoad, type Load } from './stream-rig.ts';
import { canPin, end } from '../children.ts';
import { onStage, type Stage, type Subject } from './stream-stage.ts';

/** Sockets that follow the one topic. */
const subscribers = 1_000;
/**
 * Events a second, at random times (Poisson). The server's core stays free for a part of the time. If other processes keep the core busy as
 * well, events wait and both sides send them together: then only bytes are compared.
 */
const eventsPerSecond = 250;
const warmUpMs = 2_000;
/** The servers take turns of this length, so that the rest of the machine affects all equally. */
const turnMs = 1_500;
const turns = 12;
/** After this time everything that was sent has arrived, or it never will. */
const arrivalMs = 20_000;
/** The first connections cost what a gateway allocates once; the others are measured. */
const [firstSockets, idleSockets] = [3_000, 6_000] as const;
/** Gateways whose idle memory is measured, one after the other. */
const idleRounds = 3;

/** A server with its sockets. */
interface Rig {
  readonly subject: Subject;
  readonly load: Load;
  /** Events that should have reached sockets so far. */
  expected: number;
}

async function startRig(subject: Subject, options = ''): Promise<Rig> {
  const load = await startLoad({
    port: subject.server.port,
    path: subject.path + options,
    sockets: subscribers,
    command: '{"id":1,"op":"subscribe","channel":"trades"}',
    keys: [],
    sampleEvery: 16,
  });
  return { subject, load, expected: 0 };
}

async function stopRig({ subject, load }: Rig): Promise<void> {
  await end(load.process);
  await subject.stop();
}

/** One turn: CPU microseconds of the server for each event that reached a socket. All events must. */
async function turn(rig: Rig, durationMs: number): Promise<number> {
  const pid = rig.subject.server.process.pid!;
  const before = cpuUs(pid);
  const delivered = (await pace(durationMs, eventsPerSecond, (entry) => rig.subject.publish([entry]))) * subscribers;
  rig.expected += delivered;
  await arrived(rig.load, rig.expected);
  return (cpuUs(pid) - before) / delivered;
}

/** Both forms of the gateway next to the reference, turn by turn. Two gateways at once would share one log. */
async function compare(stage: Stage, options: string): Promise<{ own: number[]; reference: number[] }> {
  const rigs = { own: await startRig(await stage.startGateway(), options), reference: await startRig(await stage.startReference(0)) };
  const figures = { own: [] as number[], reference: [] as number[] };
  const sides = ['own', 'reference'] as const;
  try {
    for (const side of sides) await turn(rigs[side], warmUpMs);
    for (let i = 0; i < turns; i++) {
      for (const side of sides) figures[side].push(await turn(rigs[side], turnMs));
    }
    return figures;
  } finally {
    for (const side of sides) await stopRig(rigs[side]);
  }
}

/** Waits until exactly this many events have reached the sockets, and all of them are open. */
async function arrived(load: Load, expected: number): Promise<void> {
  const endMs = performance.now() + arrivalMs;
  for (;;) {
    const { events, closed } = await load.count();
    if (closed > 0 || events > expected || performance.now() > endMs)
      throw new Error(`${events} of ${expected} events arrived, ${closed} sockets closed`);
    if (events === expected) return;
    await delay(50);
  }
}

/**
 * Resident memory that each of many idle, authenticated, subscribed connections adds to a gateway that has some already. The first
 * connections make the young generation and the compiled code grow, about 30 MB that differ from start to start. Memory that was freed before
 * is used again and makes the figure lower: of several gateways the highest figure counts.
 */
async function idleMemory(stage: Stage): Promise<number> {
  const { server, path, stop: stopServer } = await stage.startGateway([]);
  const order = (sockets: number): LoadOrder => ({
    port: server.port,
    path,
    sockets,
    command: '{"id":1,"op":"subscribe","channel":"trades","mints":["#"]}',
    keys: Array.from({ length: 100 }, (_, i) => addressOf(i)),
    sampleEvery: 16,
  });
  const pid = server.process.pid!;
  const loads: Load[] = [];
  const bytesWith = async (sockets: number): Promise<number> => {
    loads.push(await startLoad(order(sockets)));
    await delay(3_000);
    const closed = await Promise.all(loads.map(async (load) => (await load.count()).closed));
    if (closed.some((count) => count > 0)) throw new Error('idle connections were closed');
    return residentBytes(pid);
  };
  try {
    const before = await bytesWith(firstSockets);
    return ((await bytesWith(idleSockets)) - before) / idleSockets;
  } finally {
    for (const load of loads) await end(load.process);
    await stopServer();
  }
}

function idleRow(figures: readonly number[]): BenchRow {
  const bytes = Math.max(...figures);
  return {
    name: 'Memory of an idle connection',
    figure: `${Math.round(bytes)} bytes`,
    target: '≤ 2048 bytes',
    pass: bytes <= 2048,
    note: `increase of resident memory for each of ${idleSockets} authenticated connections that follow one mint each, after the first ${firstSockets}; highest of ${figures.length} measurements (lowest ${Math.round(Math.min(...figures))})`,
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

function rowOf(name: string, { own, reference }: { own: readonly number[]; reference: readonly number[] }, target: number): BenchRow {
  const ratios = own.map((value, at) => value / reference[at]!);
  const ratio = median(ratios);
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((value) => value.toFixed(2));
  return {
    name,
    figure: `${ratio.toFixed(2)} x (medians: ${median(own).toFixed(2)} µs against ${median(reference).toFixed(2)} µs)`,
    target: `≤ ${target} x`,
    pass: ratio <= target,
    note: `${subscribers} sockets, ${eventsPerSecond} events/s at random times, ${turns} runs of ${turnMs / 1000} s for each server, in alternation; median of the ${turns} ratios (${least} to ${most})${canPin ? '; servers on core 0, all else on core 1' : ''}`,
  };
}

/** CPU of the fan-out next to the smallest program that forwards Redis messages, and memory of idle connections. */
export function run(): Promise<BenchRow[]> {
  return onStage(async (stage) => {
    const plain = await compare(stage, '');
    const batched = await compare(stage, '&batch=1');
    const idle: number[] = [];
    for (let round = 0; round < idleRounds; round++) idle.push(await idleMemory(stage));
    return [
      rowOf('Fan-out, CPU time for each delivered event, compared with the smallest forwarder', plain, 1.15),
      rowOf('Fan-out with `?batch=1`, CPU time for each delivered event, compared with the smallest forwarder', batched, 0.7),
      idleRow(idle),
    ];
  });
}
