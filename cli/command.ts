import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Config } from '@sluice/shared/config/config.ts';
import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { readSettings } from '@sluice/shared/config/settings.ts';

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
  loadEnvFile();
  const outcome = readSettings(process.env);
  if (outcome.ok) return outcome.config;
  throw new CommandError(['These settings are wrong:', ...outcome.faults.map((fault) => `  ${fault}`)].join('\n'));
}

const durationUnitsMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const maxDurationMs = 10 * 365 * durationUnitsMs.d;

/** `30s`, `10m`, `24h`, `7d` in milliseconds; throws `UsageError`. */
export function parseDuration(option: string, text: string): number {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const durationMs = match === null ? Number.NaN : Number(match[1]) * durationUnitsMs[match[2] as keyof typeof durationUnitsMs];
  if (!(durationMs <= maxDurationMs)) throw new UsageError(`${option} takes a time like 30s, 10m, 24h or 7d, at most ten years`);
  return durationMs;
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
