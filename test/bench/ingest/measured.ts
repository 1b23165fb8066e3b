import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { IngestStats } from '../../../ingest/src/stats.ts';
import type { ScriptedNode } from '../../ingest/scripted-node.ts';
import { nodeFlags } from '../../support/command-line.ts';

const withinMs = 120_000;

/** Which process maintains the market's state. */
export type Keeper = 'self' | 'other';

export interface Report {
  readonly cpuUs: number;
  readonly bytes: number;
  readonly stats: IngestStats;
}

export interface MeasuredOptions {
  readonly redisUrl: string | null;
  readonly keeper: Keeper;
  /** Reads whole transactions from here in place of logs. */
  readonly grpcUrl?: string;
  /** On core 0 alone, if there are several; sender and Redis have the others. */
  readonly pinned: boolean;
}

/** Starts the measured process. */
export function startMeasured(node: ScriptedNode, { redisUrl, keeper, grpcUrl = '-', pinned }: MeasuredOptions): ChildProcess {
  const script = fileURLToPath(new URL('ingest-child.ts', import.meta.url));
  const run = [process.execPath, ...nodeFlags('ingest/src/main.ts'), '--import', 'tsx', script];
  const args = [...run, node.httpUrl, node.wsUrl, redisUrl ?? '-', keeper, grpcUrl];
  const [command, ...rest] = pinned && cpus().length > 1 ? ['taskset', '-c', '0', ...args] : args;
  return spawn(command!, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

async function failOnExit(child: ChildProcess, signal: AbortSignal): Promise<never> {
  if (child.exitCode === null) await once(child, 'exit', { signal });
  throw new Error(`The measured process ended with ${child.exitCode}.`);
}

export async function ask(child: ChildProcess): Promise<Report> {
  const answered = new AbortController();
  const ended = failOnExit(child, answered.signal);
  ended.catch(() => undefined);
  child.send('stats');
  const [report] = (await Promise.race([once(child, 'message'), ended])) as [Report];
  answered.abort();
  return report;
}

export async function until(child: ChildProcess, met: (report: Report) => boolean): Promise<Report> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    const report = await ask(child);
    if (met(report)) return report;
    if (performance.now() > deadlineMs) throw new Error(`The measured process did not finish: ${JSON.stringify(report.stats)}`);
    await pause(10);
  }
}

/** Not on the measured core. */
export function pinToOthers(pid: number): void {
  const count = cpus().length;
  if (count > 1) execFileSync('taskset', ['-a', '-cp', `1-${count - 1}`, String(pid)], { stdio: 'ignore' });
}
