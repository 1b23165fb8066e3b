import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../build-folder.mjs';

/** @typedef {Readonly<Record<string, unknown>> & { readonly version: string, readonly scripts: Readonly<Record<string, string>>, readonly dependencies: Readonly<Record<string, string>> }} Manifest */

/** The manifest of the project, or of one of its packages. @param {string} [part] @returns {Manifest} */
export function manifestOf(part = '.') {
  return JSON.parse(readFileSync(join(root, part, 'package.json'), 'utf8'));
}

/** Writes a file and the folders above it. @param {string} file @param {string | Uint8Array} content */
export function write(file, content) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** Runs a program to its end. Throws with its output if it fails. @param {string} program @param {readonly string[]} args @param {string} [cwd] */
export function run(program, args, cwd = root) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`.trim()}`);
  return stdout;
}

/** Packs a folder with a package.json. Returns the path of the package in `to`. @param {string} folder @param {string} to */
export function pack(folder, to) {
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', to], folder));
  return join(to, filename);
}

/** What to do with the packages. npx would execute a plain absolute path as a program. @param {string} product @param {string} client */
export function releasedText(product, client) {
  return `${product}
  In an empty folder: npx -y file:${product} start
${client}
  In your project: npm install file:${client}`;
}
