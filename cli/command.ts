import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Config } from '@sluice/shared/config/config.ts';
import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { readSettings } from '@sluice/shared/config/settings.ts';
import { faultsText } from '@sluice/shared/config/start-fault.ts';

export interface Command {
  readonly help: string;
  /** Resolves with the exit code. Throws `UsageError` on arguments that it does not take. */
  run(argv: readonly string[]): Promise<number>;
}

/** The arguments are wrong: the message and the command's help are shown, and the process exits with 2. */
export class UsageError extends Error {}

/** The command cannot be carried out: the message alone is shown, and the process exits with 1. */
export class CommandError extends Error {}

/** `parseArgs`, strict, its complaints as `UsageError`. */
export function parseCommand<const T extends ParseArgsConfig['options']>(argv: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message.split('. ')[0] ?? error.message);
    throw error;
  }
}

/**
 * What a command with several actions is to do, and the arguments to it; `--json` may stand before. Throws `UsageError` where no
 * action, or none of `actions`, is named.
 */
export function actionOf<T>(command: string, argv: readonly string[], actions: ReadonlyMap<string, T>): [T, readonly string[]] {
  const index = argv.findIndex((argument) => argument !== '--json');
  const name = argv[index];
  if (name === undefined || name.startsWith('-')) throw new UsageError(`missing: what to do, ${[...actions.keys()].join(', ')}`);
  const action = actions.get(name);
  if (action === undefined) throw new UsageError(`${command} cannot ${shown(name)}`);
  return [action, argv.toSpliced(index, 1)];
}

/** Exactly the positional arguments named; throws `UsageError` otherwise. */
export function positionalsOf(positionals: readonly string[], ...names: readonly string[]): string[] {
  if (positionals.length < names.length) throw new UsageError(`missing: ${names.slice(positionals.length).join(' ')}`);
  if (positionals.length > names.length) throw new UsageError(`one argument too many: ${shown(positionals[names.length] ?? '')}`);
  return [...positionals];
}

/** An argument as a message may repeat it: no control characters, no key that was given by mistake. */
export function shown(argument: string): string {
  return argument.startsWith('sluice_') ? 'an API key' : JSON.stringify(argument.slice(0, 64));
}

/** Reads `.env` and the environment; throws `CommandError` naming every fault. */
export function loadConfig(): Config {
  const envFile = loadEnvFile();
  const outcome = readSettings(process.env, { envFile });
  if (outcome.ok) return outcome.config;
  throw new CommandError(faultsText(outcome.faults));
}

const durationUnitsMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const maxDurationMs = 10 * 365 * durationUnitsMs.d;

/** `30s`, `10m`, `24h`, `7d` in milliseconds, `least` or more; throws `UsageError`. */
export function parseDuration(option: string, text: string, least: 0 | 1000): number {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const durationMs = match === null ? Number.NaN : Number(match[1]) * durationUnitsMs[match[2] as keyof typeof durationUnitsMs];
  if (!(durationMs >= least && durationMs <= maxDurationMs)) {
    throw new UsageError(`${option} takes a time like 30s, 10m, 24h or 7d, at most ten years`);
  }
  return durationMs;
}

let readerGone = (): void => process.exit(0);

/** Sets what to do, instead of exiting at once, when the reader of standard output has ended (`sluice watch trades | head`). `stop` may be called more than once. */
export function onReaderGone(stop: () => void): void {
  readerGone = stop;
}

/** A reader that has enough is no fault; anything else that keeps output from being written is. */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? readerGone() : process.exit(1)));
}

export function printJson(value: unknown): void {
  console.log(JSON.stringify(value));
}

/** Columns aligned, headings first. */
export function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of [headings, ...rows]) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}
