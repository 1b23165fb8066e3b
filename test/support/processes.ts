import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { startProgram, type CommandOptions } from './command-line.ts';

/** A program of the project as a process of its own. */
export interface RunningProgram {
  readonly child: ChildProcess;
  /** Log lines so far, oldest first. */
  readonly log: readonly LogLine[];
  /** The first log line with this event name and these fields, past or future. Rejects if the process ends before, or after `withinMs`. */
  logged(name: string, withinMs?: number, fields?: Readonly<Record<string, unknown>>): Promise<LogLine>;
  /** Sends SIGTERM, and returns the exit code. */
  stop(): Promise<number | null>;
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

const maxLogLines = 10_000;

/** Starts a program such as `ingest/src/main.ts`, and reads its log. */
export function runProgram(program: string, options: CommandOptions, args: readonly string[] = []): RunningProgram {
  const child = startProgram(program, args, options);
  const log: LogLine[] = [];
  const waiting = new Set<(line: LogLine | null) => void>();
  if (child.stderr === null || child.stdout === null) throw new TypeError('The program has no output to read.');
  child.stdout.resume();
  createInterface({ input: child.stderr }).on('line', (text) => {
    const line = text.startsWith('{') ? (JSON.parse(text) as LogLine) : { msg: text };
    log.push(line);
    if (log.length > maxLogLines) log.shift();
    for (const look of waiting) look(line);
  });
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      for (const look of waiting) look(null);
      resolve(code);
    });
  });
  return {
    child,
    log,
    logged: (name, withinMs = 60_000, fields = {}) =>
      new Promise((resolve, reject) => {
        const isIt = (line: LogLine): boolean =>
          line.msg === name && Object.entries(fields).every(([field, value]) => line[field] === value);
        const found = log.find(isIt);
        if (found !== undefined) return resolve(found);
        const fail = (why: string): void => {
          waiting.delete(look);
          reject(new Error(`${program} did not log ${name}: ${why}\n${log.map((line) => JSON.stringify(line)).join('\n')}`));
        };
        const timer = setTimeout(fail, withinMs, `waited ${withinMs} ms`);
        const look = (line: LogLine | null): void => {
          if (line !== null && !isIt(line)) return;
          clearTimeout(timer);
          if (line === null) return fail('it ended');
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
      }),
    stop: async () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}
