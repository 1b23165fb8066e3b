import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { addressOf, entryOf, tradeEvent } from '../support/stream-events.ts';
import type { LoadOrder, LoadReport } from './load-client.ts';

/** What the benchmarks of the stream share: servers on a core of their own, clients in a process of their own. */
const serverCore = '0';
const loadCore = '1';

export const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
export const gatewayMain = fileURLToPath(new URL('../../gateway/src/main.ts', import.meta.url));
export const canPin = spawnSync('taskset', ['--version']).status === 0;

/** Puts this process and all that it starts on the other core: Redis and the clients share it with the publisher. */
export function leaveServerCore(): void {
  if (canPin) spawnSync('taskset', ['-pc', loadCore, String(process.pid)]);
}

export interface Server {
  readonly process: ChildProcess;
  readonly port: number;
}

/** Starts a program on the server's core; it tells its address in a line with `http://127.0.0.1:<port>`. */
export async function startServer(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): Promise<Server> {
  const node = [process.execPath, ...flags, '--import', 'tsx', script, ...args];
  const [command, ...rest] = canPin ? ['taskset', '-c', serverCore, ...node] : node;
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
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}: ${output.slice(-2_000)}`)));
  });
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exited;
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

/** Sends entries at random times; resolves with how many when the time is over. */
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
