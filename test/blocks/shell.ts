import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const commandMs = 300_000;
const interruptMs = 60_000;
/** Of the output of one command, in characters. */
const maxOutput = 200_000;

export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

/** Commands one after the other, as in one terminal: the folder and exported variables stay. */
export class Shell {
  readonly #env: NodeJS.ProcessEnv;
  readonly #state: string;
  readonly #start: string;

  constructor(folder: string, env: NodeJS.ProcessEnv, state: string) {
    this.#env = env;
    this.#start = folder;
    this.#state = state;
    writeFileSync(state, '');
  }

  get folder(): Promise<string> {
    return this.run('pwd').then(({ output }) => output.trim());
  }

  async run(command: string): Promise<Outcome> {
    const child = this.#spawn(`${command}\n{ export -p; printf 'cd %q\\n' "$PWD"; } > '${this.#state}'`);
    const output = collect(child);
    const timer = setTimeout(() => kill(child, 'SIGKILL'), commandMs);
    const code = await new Promise((resolve) => child.once('close', resolve));
    clearTimeout(timer);
    return { ok: code === 0, output: output() };
  }

  /** Runs a command until it prints what is expected, and interrupts it as a user does. */
  async runUntil(command: string, until: RegExp, during: () => Promise<void>, env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
    const child = this.#spawn(command, env);
    const output = collect(child);
    const isEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const endMs = Date.now() + commandMs;
    while (!until.test(output()) && !isEnded() && Date.now() < endMs) await pause(50);
    const seen = until.test(output());
    try {
      if (seen) await during();
    } finally {
      kill(child, 'SIGINT');
      await Promise.race([closed, pause(interruptMs)]);
    }
    if (isEnded()) return { ok: seen, output: output() };
    kill(child, 'SIGKILL');
    return { ok: false, output: `${output()}\nit did not end after an interrupt` };
  }

  #spawn(command: string, env: NodeJS.ProcessEnv = {}): ChildProcess {
    const script = join(`${this.#state}.sh`);
    const exports = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
    const before = existsSync(this.#state) ? `. '${this.#state}'\n` : '';
    writeFileSync(script, `set -e\n${before}${exports.join('')}${command}\n`);
    // A group of its own, so that an interrupt reaches all processes of the command, as in a terminal.
    return spawn('bash', [script], { cwd: this.#start, env: this.#env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  }
}

function collect(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-maxOutput)));
  }
  return () => output;
}

export function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
