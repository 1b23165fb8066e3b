import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Config } from '@sluice/shared/config/config.ts';
import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { readSettings } from '@sluice/shared/config/settings/settings.ts';
import { faultsText } from '@sluice/shared/config/start-fault.ts';
import { print, printError, printJson } from './terminal.ts';

export interface Command {
  /** What it does in one line, the usage, the options with units and defaults, and an example. */
  readonly help: string;
  /** The same for each action of a command with several, by its words after the command: `create`, `policy sign`. */
  readonly actionHelp?: Readonly<Record<string, string>>;
  /** Resolves with the exit code. Throws `UsageError` if an argument is wrong. */
  run(argv: readonly string[]): Promise<number>;
}

/** The arguments are wrong. The process prints the message and the help, and exits with 2. */
export class UsageError extends Error {}

/** The command failed. The process prints the message only, and exits with 1. */
export class CommandError extends Error {}

/** The last line in the help of all commands that use the store. */
export const storeNote =
  'Use <action> --help for the options. All actions accept --json. They use the store (DATABASE_URL, or in DATA_DIR), even while gateways run.';

/** Strict `parseArgs`. Throws `UsageError` for an unknown option or a missing value. */
export function parseCommand<const T extends ParseArgsConfig['options']>(argv: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message.split('. ')[0] ?? error.message);
    throw error;
  }
}

export type Action = (argv: readonly string[]) => Promise<number>;

/** What an action prints: `json` with the option `--json`, or if there is no text. Otherwise the text, and the errors on standard error. */
export interface Printed {
  readonly json: unknown;
  readonly text: string | null;
  readonly errors?: readonly string[];
  /** Exit code. Default: 0. */
  readonly code?: number;
}

/**
 * An action with these options and positional arguments, exactly one for each name. The last one may be left out if its name is in brackets. Every
 * action also accepts `--json`.
 */
export function action<const T extends NonNullable<ParseArgsConfig['options']>>(
  options: T,
  names: readonly string[],
  run: (values: ReturnType<typeof parseCommand<T>>['values'], positionals: readonly string[]) => Promise<Printed>,
): Action {
  return async (argv) => {
    const isJson = argv.includes('--json');
    const { values, positionals } = parseCommand(
      argv.filter((argument) => argument !== '--json'),
      options,
    );
    const isShort = names.at(-1)?.startsWith('[') === true && positionals.length === names.length - 1;
    positionalsOf(positionals, ...(isShort ? names.slice(0, -1) : names));
    const { json, text, errors = [], code = 0 } = await run(values, positionals);
    if (isJson || text === null) printJson(json);
    else {
      print(text);
      for (const error of errors) printError(error);
    }
    return code;
  };
}

/** A command of several actions. The first argument names the action; only `--json` may come before. */
export function commandOf(
  name: string,
  actions: Readonly<Record<string, Action>>,
  help: string,
  actionHelp: Readonly<Record<string, string>>,
): Command & { readonly run: Action } {
  const names = Object.keys(actions).join(', ');
  return {
    help,
    actionHelp,
    run: async (argv) => {
      const index = argv.findIndex((argument) => argument !== '--json');
      const first = argv[index];
      if (first === undefined || first.startsWith('-')) throw new UsageError(`missing action: ${names}`);
      if (!Object.hasOwn(actions, first)) throw new UsageError(`${name} has no action ${inQuotes(first)}. Actions: ${names}`);
      return actions[first]!(argv.toSpliced(index, 1));
    },
  };
}

/** The positional arguments, exactly one for each name. Throws `UsageError` if there are fewer or more. */
export function positionalsOf(positionals: readonly string[], ...names: readonly string[]): string[] {
  if (positionals.length < names.length) throw new UsageError(`missing: ${names.slice(positionals.length).join(' ')}`);
  if (positionals.length > names.length) throw new UsageError(`unexpected argument: ${inQuotes(positionals[names.length] ?? '')}`);
  return [...positionals];
}

/** An argument in a form that is safe in a message: without control characters, and without an API key that was given by mistake. */
export function inQuotes(argument: string): string {
  return argument.startsWith('sluice_') ? 'an API key' : JSON.stringify(argument.slice(0, 64));
}

/** Reads `.env` and the environment. Throws a `CommandError` that lists all wrong settings. */
export function loadConfig(): Config {
  const envFile = loadEnvFile(process.env);
  const outcome = readSettings(process.env, { envFile });
  if (outcome.ok) return outcome.config;
  throw new CommandError(faultsText(outcome.faults));
}

const durationUnitsMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const maxDurationMs = 10 * 365 * durationUnitsMs.d;

/** Reads `30s`, `10m`, `24h` or `7d`; returns milliseconds. Throws `UsageError` below `least` or above ten years. */
export function parseDuration(option: string, text: string, least: 0 | 1000): number {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const durationMs = match === null ? Number.NaN : Number(match[1]) * durationUnitsMs[match[2] as keyof typeof durationUnitsMs];
  if (!(durationMs >= least && durationMs <= maxDurationMs)) {
    throw new UsageError(`${option} takes a time like 30s, 10m, 24h or 7d, at most ten years`);
  }
  return durationMs;
}

let readerGone = (): void => process.exit(0);

/** Calls `stop`, maybe several times, when the reader of standard output has ended (`sluice watch trades | head`). The default is to exit. */
export function onReaderGone(stop: () => void): void {
  readerGone = stop;
}

/** Exits with 1 if the output cannot be written. A reader that has ended is not an error. */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? readerGone() : process.exit(1)));
}

/** The headings and the rows in aligned columns. */
export function tableText(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [headings, ...rows].map(line).join('\n');
}
