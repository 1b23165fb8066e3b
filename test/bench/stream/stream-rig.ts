import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nodeArguments } from '../../support/command-line.ts';
import { packNumber } from '@sluice/shared/codec/msgpack.ts';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { addressOf, entryOf, tradeEvent } from '../../support/events/stream-events.ts';
import { canPin, loadCore, serverCore } from '../children.ts';
import type { LoadOrder, LoadReport } from './load-client.ts';

/** Shared by the benchmarks of the stream: servers on their own core, clients in their own process. */
const publishedMarkUs = 1_795_248_000_123_456;

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/**
 * Moves this process and everything that it starts to the other core: Redis, the clients and the publisher share it. If the system allows
 * it, all of them, servers too, have priority over the rest of the machine, which is not measured.
 */
export function leaveServerCore(): void {
  spawnSync('renice', ['-n', '-15', '-p', String(process.pid)]);
  if (canPin) spawnSync('taskset', ['-pc', loadCore, String(process.pid)]);
}

export interface Server {
  readonly process: ChildProcess;
  readonly port: number;
}

/** Starts a program of the project on the server's core; it prints its address in a line with `http://127.0.0.1:<port>`. */
export async function startServer(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  flags?: readonly string[],
  isPinned = canPin,
): Promise<Server> {
  const node = [process.execPath, ...nodeArguments(program, flags), ...args];
  const [command, ...rest] = isPinned ? ['taskset', '-c', serverCore, ...node] : node;
  const child = spawn(command!, rest, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  return await new Promise((resolve, reject) => {
    let output = '';
    const read = (text: string): void => {
      output += text;
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1];
      if (port !== undefined) resolve({ process: child, port: Number(port) });
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    child.once('exit', (code) => reject(new Error(`${program} ended with ${code}: ${output.slice(-2_000)}`)));
  });
}

export interface Load {
  readonly process: ChildProcess;
  count(): Promise<Extract<LoadReport, { kind: 'count' }>>;
}

export async function startLoad(order: LoadOrder): Promise<Load> {
  const child = fork(here('load-client.ts'), [], { execArgv: ['--import', 'tsx'] });
  const next = (): Promise<LoadReport> => new Promise((resolve) => child.once('message', (message) => resolve(message as LoadReport)));
  child.send(order);
  await next();
  return {
    process: child,
    count: async () => {
      const answer = next();
      child.send('count');
      return (await answer) as Extract<LoadReport, { kind: 'count' }>;
    },
  };
}

/** User and system time of a process so far, in microseconds. */
export function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  // utime and stime, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Resident memory of a process. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
}

/** Publishes `perSecond` events, in steps; resolves with their number when the time is over. */
export async function play(
  durationMs: number,
  perSecond: number,
  stepMs: number,
  publish: (entries: readonly BusEntry[]) => void,
  make: (n: number) => BusEntry,
): Promise<number> {
  const startMs = performance.now();
  let sent = 0;
  for (let step = 1; performance.now() - startMs < durationMs; step++) {
    const due = Math.round((step * stepMs * perSecond) / 1_000);
    const batch = Array.from({ length: due - sent }, (_, i) => make(sent + i));
    if (batch.length > 0) publish(batch);
    sent = due;
    await delay(Math.max(0, startMs + step * stepMs - performance.now()));
  }
  return sent;
}

/**
 * Trades of several mints, encoded in advance, so that the publisher takes little of the core that it shares. Each call returns one, with
 * the time of the call as `published`.
 */
export function tradesOf(mints: number): (n: number) => BusEntry {
  const mark = Buffer.from(packNumber(publishedMarkUs), 'latin1');
  const trades = Array.from({ length: mints }, (_, mint) => {
    const changes = { trader: addressOf(20_000 + (mint % 1_000)), ts: { received: 1, published: publishedMarkUs } };
    const entry = entryOf(tradeEvent(addressOf(mint), changes));
    const record = Buffer.from(entry.record);
    return { entry: { ...entry, record }, record, at: record.indexOf(mark) + 1 };
  });
  return (n) => {
    const { entry, record, at } = trades[n % mints]!;
    record.writeBigUInt64BE(BigInt(Math.round((performance.timeOrigin + performance.now()) * 1_000)), at);
    return entry;
  };
}

/** The value that a given share of them lies below. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const ms = (value: number): string => `${value < 10 ? value.toFixed(2) : Math.round(value)} ms`;

/** Sends entries at random times; resolves with their number when the time is over. */
export async function pace(durationMs: number, eventsPerSecond: number, publish: (entry: BusEntry) => void): Promise<number> {
  const entries = Array.from({ length: 256 }, (_, i) => entryOf(tradeEvent(addressOf(i), { trader: addressOf(10_000 + i) })));
  const startMs = performance.now();
  let dueMs = startMs;
  let sent = 0;
  while (dueMs < startMs + durationMs) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 1) await delay(waitMs);
    while (dueMs <= performance.now()) {
      publish(entries[sent++ % entries.length]!);
      dueMs -= (Math.log(1 - Math.random()) * 1_000) / eventsPerSecond;
    }
  }
  return sent;
}
