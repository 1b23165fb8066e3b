import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

/** A version of the product: its name, and the folder of its compiled programs. */
export interface Version {
  readonly name: string;
  readonly root: string;
}

export interface Place {
  /** The working folder of all processes. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

const startWithinMs = 120_000;

function run({ root }: Version, { folder, env }: Place, args: readonly string[]): ChildProcess {
  const { PATH, HOME } = process.env;
  return spawn(process.execPath, [join(root, 'run.mjs'), ...args], {
    cwd: folder,
    env: { ...(PATH && { PATH }), ...(HOME && { HOME }), NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `sluice …` of a version to its end. */
export async function command(version: Version, place: Place, ...args: readonly string[]): Promise<Finished> {
  const child = run(version, place, ['sluice', ...args]);
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.setEncoding('utf8').on('data', (text: string) => (printed[stream] += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...printed };
}

/** A running gateway of a version. */
export interface Running {
  readonly version: Version;
  readonly url: string;
  /** What it logged as an error or a warning. */
  readonly troubles: readonly string[];
  stop(): Promise<void>;
}

export async function startGateway(version: Version, place: Place): Promise<Running> {
  const child = run(version, place, ['gateway']);
  const troubles: string[] = [];
  const closed = once(child, 'close');
  child.stdout?.resume();
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${version.name} does not listen: ${troubles.join('\n')}`)), startWithinMs);
    child.once('close', () => reject(new Error(`${version.name} ended: ${troubles.join('\n')}`)));
    createInterface({ input: child.stderr! }).on('line', (text) => {
      const line = text.startsWith('{') ? (JSON.parse(text) as { msg: string; level: number; url?: string }) : { msg: text, level: 50 };
      if (line.level >= 40) troubles.push(text);
      if (line.msg !== 'listening') return;
      clearTimeout(timer);
      resolve(String(line.url));
    });
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await closed;
  };
  return { version, url, troubles, stop };
}
