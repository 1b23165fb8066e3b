import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PublicClient } from './clients.ts';

const programs = fileURLToPath(new URL('programs/', import.meta.url));
const installWithinMs = 300_000;

export interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a command, and resolves when it has ended. One that does not end in time is killed. A missing command has the code 127. */
export function run(command: string, args: readonly string[], cwd: string, withinMs: number, env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'], timeout: withinMs });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', ({ message }) => resolve({ code: 127, output: message }));
    child.once('close', (code, signal) => resolve({ code, output: signal === null ? output : `${output}\nended by ${signal}` }));
  });
}

/** An installed client: how its program is run. */
export interface Installed {
  readonly command: string;
  readonly args: readonly string[];
}

/** Installs a client into an empty folder, together with the programs. Returns the reason if it could not. */
export async function install(client: PublicClient, folder: string, host: string): Promise<Installed | string> {
  mkdirSync(folder, { recursive: true });
  cpSync(programs, folder, { recursive: true });
  const { packages, registry, program, hostIn } = client;
  if (registry === 'npm') {
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    const flags = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const npm = await run('npm', [...flags, ...packages], folder, installWithinMs);
    return npm.code === 0 ? { command: process.execPath, args: [program] } : lastLine(npm);
  }
  const venv = await run('python3', ['-m', 'venv', 'venv'], folder, installWithinMs);
  if (venv.code !== 0) return lastLine(venv);
  const python = join(folder, 'venv/bin/python');
  const pip = await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages], folder, installWithinMs);
  if (pip.code !== 0) return lastLine(pip);
  if (hostIn !== undefined) replaceHost(folder, hostIn, host);
  return { command: python, args: [program] };
}

/** The only change of a package. Throws if it does not name PumpPortal's host. */
function replaceHost(folder: string, name: string, host: string): void {
  const lib = join(folder, 'venv/lib');
  const root = join(lib, readdirSync(lib)[0]!, 'site-packages', name);
  let replaced = 0;
  for (const entry of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.py')) continue;
    const file = join(root, entry);
    const text = readFileSync(file, 'utf8');
    if (!text.includes('https://pumpportal.fun')) continue;
    writeFileSync(file, text.replaceAll('https://pumpportal.fun', `http://${host}`));
    replaced++;
  }
  if (replaced === 0) throw new Error(`${name} does not name https://pumpportal.fun`);
}

export function lastLine({ output, code }: Ran): string {
  return output.trim().split('\n').at(-1)?.slice(0, 300) || `exit code ${code}`;
}
