import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { programs } from '../../compile/programs.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
/** File URLs, because commands run in folders of their own, so that no `.env` of the developer is read. */
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const timeoutMs = 60_000;

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** The folder that the command runs in. */
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** The number of the user that runs it; requires root. */
  readonly user?: number;
}

/** Only the settings that a process needs to run, and none of the developer's. */
export function environment({ env = {} }: CommandOptions): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { ...(PATH && { PATH }), ...(HOME && { HOME }), ...(TMPDIR && { TMPDIR }), NO_COLOR: '1', ...env };
}

/** The name under which `run.mjs` runs the program that begins with this module. */
function nameOf(program: string): string {
  const found = Object.entries(programs).find(([, module]) => module === program);
  if (found === undefined) throw new TypeError(`compile/programs.mjs names no program ${program}.`);
  return found[0];
}

/** The flags of Node.js in the script in package.json that runs `program`. */
export function nodeFlags(program: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const script = Object.values(scripts).find((line) => line.endsWith(` run.mjs ${nameOf(program)}`));
  if (script === undefined) throw new TypeError(`No script of package.json runs ${program}.`);
  return script.split(' ').filter((word) => word.startsWith('--'));
}

/**
 * Arguments of Node.js that run a program of the project. A program such as `cli/start.ts` runs compiled, as users run it. A program of the
 * tests has no script in package.json, and runs from its source. `flags` replace those of the script.
 */
export function nodeArguments(program: string, flags?: readonly string[]): string[] {
  if (program.startsWith('test/')) return [...(flags ?? []), '--import', tsx, join(root, program)];
  return [...(flags ?? nodeFlags(program)), join(root, 'run.mjs'), nameOf(program)];
}

/** Starts a program of the project. */
export function startProgram(program: string, args: readonly string[], options: CommandOptions): ChildProcess {
  return spawn(process.execPath, [...nodeArguments(program), ...args], {
    cwd: options.folder,
    env: environment(options),
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.user !== undefined && { uid: options.user, gid: options.user }),
  });
}

/** Runs a program to its end. */
export function runProgram(program: string, args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = startProgram(program, args, options);
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    let [stdout, stderr] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? -1, stdout, stderr });
    });
    // A command that ends before it reads its input closes the pipe.
    child.stdin?.on('error', () => undefined).end(options.input ?? '');
  });
}

/** Runs `sluice …` to its end. */
export function sluice(args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  return runProgram('cli/sluice.ts', args, options);
}
