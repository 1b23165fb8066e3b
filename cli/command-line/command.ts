import { parseArgs } from 'node:util';
import type { Config } from '@sluice/shared/config/config.ts';
import { loadEnvFile } from '@sluice/shared/config/env-file.ts';
import { readSettings } from '@sluice/shared/config/settings/settings.ts';
import { faultsText } from '@sluice/shared/config/start-fault.ts';
import { print, printError, printJson } from './terminal.ts';

/** The arguments are wrong. The process prints the message and the help, and exits with 2. */
export class UsageError extends Error {}

/** The command failed. The process prints the message only, and exits with 1. */
export class CommandError extends Error {}

export interface Option {
  /** What follows it, such as `NAME`; null for a flag. */
  readonly takes: string | null;
  readonly isRequired: boolean;
  readonly help: string;
}

export const option = (takes: string, help: string) => ({ takes, isRequired: false, help }) as const;
export const required = (takes: string, help: string) => ({ takes, isRequired: true, help }) as const;
export const flag = (help: string) => ({ takes: null, isRequired: false, help }) as const;

type Options = Readonly<Record<string, Option>>;
type Values<O extends Options> = { readonly json: boolean } & {
  readonly [Name in keyof O]: O[Name]['takes'] extends null ? boolean : O[Name]['isRequired'] extends true ? string : string | undefined;
};

/** What an action prints: `json` with the option `--json`, or if there is no text. Otherwise the text, and the errors on standard error. */
export interface Printed {
  readonly json: unknown;
  readonly text: string | null;
  readonly errors?: readonly string[];
  /** Exit code. Default: 0. */
  readonly code?: number;
}

interface Documented {
  /** The purpose of the command, in one paragraph. */
  readonly about: string;
  /** Further paragraphs of the help. */
  readonly more?: string;
}

export interface ActionSpec<O extends Options> extends Documented {
  /** The help of each positional argument, in order. The last one may be missing, `[FILE]`, or repeated, `[FILE…]`. */
  readonly args?: Readonly<Record<string, string>>;
  /** Each action also accepts `--json`. */
  readonly options?: O;
  readonly json?: string;
  readonly examples?: readonly string[];
  /** Resolves with what to print, or with the exit code if it has printed itself. Throws `UsageError` if an argument is wrong. */
  run(values: Values<O>, args: readonly string[]): Promise<Printed | number>;
}

export interface Action extends Omit<ActionSpec<Options>, 'run'> {
  /** Resolves with the exit code. */
  run(argv: readonly string[]): Promise<number>;
}

/** Several actions. The first argument names one of them; only `--json` may come before. */
export interface Group extends Documented {
  readonly actions: Readonly<Record<string, Command>>;
  /** What runs if no action is named. */
  readonly own?: Action;
}

export type Command = Action | Group;

export function action<const O extends Options>(spec: ActionSpec<O>): Action {
  return {
    ...spec,
    run: async (argv) => {
      const { values, positionals } = parse(argv, spec.options ?? {});
      checkCount(positionals, Object.keys(spec.args ?? {}));
      const printed = await spec.run(values as unknown as Values<O>, positionals);
      if (typeof printed === 'number') return printed;
      const { json, text, errors = [], code = 0 } = printed;
      if (values['json'] === true || text === null) printJson(json);
      else {
        print(text);
        for (const error of errors) printError(error);
      }
      return code;
    },
  };
}

interface Parsed {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

function parse(argv: readonly string[], options: Options): Parsed {
  const known = Object.entries(options).map(([name, { takes }]) => [name, takes === null ? isFlag : { type: 'string' }] as const);
  try {
    const all = { json: isFlag, ...Object.fromEntries(known) };
    const { values, positionals } = parseArgs({ args: [...argv], options: all, allowPositionals: true }) as Parsed;
    const missing = Object.entries(options).find(([name, { isRequired }]) => isRequired && values[name] === undefined);
    if (missing !== undefined) throw new UsageError(`--${missing[0]} is missing: ${missing[1].help}`);
    return { values, positionals };
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message.split('. ')[0] ?? error.message);
    throw error;
  }
}

const isFlag = { type: 'boolean', default: false } as const;

function checkCount(given: readonly string[], names: readonly string[]): void {
  const last = names.at(-1) ?? '';
  const fewest = last.startsWith('[') ? names.length - 1 : names.length;
  if (given.length < fewest) throw new UsageError(`missing: ${names.slice(given.length, fewest).join(' ')}`);
  const extra = last.endsWith('…]') ? undefined : given[names.length];
  if (extra !== undefined) throw new UsageError(`unexpected argument: ${inQuotes(extra)}`);
}

/** Runs the action that the arguments name. Resolves with the exit code. */
export async function runCommand(command: Command, name: string, argv: readonly string[]): Promise<number> {
  const found = find(command, name, argv);
  if (!('actions' in found.command)) return found.command.run(found.argv);
  const { own, actions } = found.command;
  if (own !== undefined) return own.run(found.argv);
  const names = Object.keys(actions).join(', ');
  const word = found.argv.find((argument) => argument !== '--json') ?? '-';
  throw new UsageError(
    word.startsWith('-') ? `missing action: ${names}` : `${found.name} has no action ${inQuotes(word)}. Actions: ${names}`,
  );
}

interface Found {
  readonly command: Command;
  /** With the words that name it: `wallets policy`. */
  readonly name: string;
  /** What follows these words. */
  readonly argv: readonly string[];
}

function find(command: Command, name: string, argv: readonly string[]): Found {
  const at = argv.findIndex((argument) => argument !== '--json');
  const word = argv[at] ?? '';
  if (!('actions' in command) || !Object.hasOwn(command.actions, word)) return { command, name, argv };
  return find(command.actions[word]!, `${name} ${word}`, argv.toSpliced(at, 1));
}

/** The help of the action that the arguments name, or else of the whole command. */
export function helpOf(of: Command, first: string, argv: readonly string[]): string {
  const words = argv.filter((argument) => !argument.startsWith('-'));
  const { command, name } = find(of, first, words);
  const isGroup = 'actions' in command;
  const own = isGroup ? command.own : command;
  const examples = own?.examples?.map((example) => `sluice ${example}`) ?? [];
  const parts = [
    wrapped(command.about),
    isGroup ? ['Usage:', ...usagesIn(name, command)].join('\n  ') : `Usage: ${usageOf(name, command)}`,
    own === undefined ? '' : rowsOf(own),
    command.more ?? '',
    isGroup ? 'Use <action> --help for the options. All actions accept --json.' : '',
    examples.length > 1 ? ['Examples:', ...examples].join('\n  ') : examples.map((example) => `Example: ${example}`).join(''),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function usagesIn(name: string, { own, actions }: Group): readonly string[] {
  const usages = Object.entries(actions).map(([word, command]) =>
    'actions' in command ? `sluice ${name} ${word} ${Object.keys(command.actions).join('|')}` : usageOf(`${name} ${word}`, command),
  );
  return own === undefined ? usages : [usageOf(name, own), ...usages];
}

/** More optional ones are not listed in the line of the usage. */
const maxShownOptions = 2;

function usageOf(name: string, { args = {}, options = {} }: Action): string {
  const [needed, others] = [true, false].map((isRequired) => Object.entries(options).filter(([, one]) => one.isRequired === isRequired));
  const shown = others!.length > maxShownOptions ? ['[options]'] : others!.map((one) => `[${optionText(one)}]`);
  return ['sluice', name, ...Object.keys(args), ...needed!.map(optionText), ...shown].join(' ');
}

function optionText([name, { takes }]: readonly [string, Option]): string {
  return takes === null ? `--${name}` : `--${name} ${takes}`;
}

function rowsOf({ args = {}, options = {}, json = 'print JSON' }: Action): string {
  const ofOptions = Object.entries(options).map(
    (one) => [optionText(one), `${one[1].help}${one[1].isRequired ? ' (required)' : ''}`] as const,
  );
  const rows = [...Object.entries(args), ...ofOptions, ['--json', json] as const];
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, help]) => `  ${label.padEnd(width)}  ${wrapped(help, width + 4)}`).join('\n');
}

const columns = 120;

/** The text in lines. All but the first are indented. */
function wrapped(text: string, indent = 0): string {
  const lines = text.match(new RegExp(String.raw`\S.{0,${columns - indent - 1}}(?=\s|$)`, 'g')) ?? [];
  return lines.join(`\n${' '.repeat(indent)}`);
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
export function parseDuration(name: string, text: string, least: 0 | 1000): number {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const durationMs = match === null ? Number.NaN : Number(match[1]) * durationUnitsMs[match[2] as keyof typeof durationUnitsMs];
  if (!(durationMs >= least && durationMs <= maxDurationMs)) {
    throw new UsageError(`${name} takes a time like 30s, 10m, 24h or 7d, at most ten years`);
  }
  return durationMs;
}

/** Reads the whole number that an option requires. Throws `UsageError` outside `min` to `max`. */
export function readInteger(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new UsageError(`${name} takes a whole number from ${min} to ${max}`);
  return value;
}
