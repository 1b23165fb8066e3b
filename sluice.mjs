#!/usr/bin/env node
/**
 * The command `sluice` of a release: `sluice start`, `sluice gateway` and `sluice ingest` run these programs; all other words are commands of
 * the command line. Each runs in a new Node.js, with the flags of its script in package.json.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const words = process.argv.slice(2);
const program = ['start', 'gateway', 'ingest'].find((name) => name === words[0]) ?? 'sluice';
/** @type {readonly string[]} */
const flags = scripts[program].split(' ').filter((/** @type {string} */ word) => word.startsWith('--'));
const args = [...flags, join(root, 'run.mjs'), program, ...words.slice(program === 'sluice' ? 0 : 1)];

// Node.js 22.15 and later can replace this process. Its signals and its memory are then those of the program alone.
const { execve } = /** @type {{ readonly execve?: (file: string, args: readonly string[]) => void }} */ (/** @type {unknown} */ (process));
if (process.platform !== 'win32') execve?.(process.execPath, [process.execPath, ...args]);

const child = spawn(process.execPath, args, { stdio: 'inherit' });
for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP'])) process.on(signal, () => child.kill(signal));
// A terminal sends it to both processes. A second one would end the program before it has closed its connections.
process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
child.once('error', (error) => {
  console.error(`${process.execPath} cannot be started: ${error.message}`);
  process.exit(1);
});
child.once('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
