import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastLine, run as runToEnd } from '../pumpportal/install.ts';

/**
 * `pnpm test:release`: installs the packages in `release/` in empty folders, as a user would, with an empty cache of npm and a umask that
 * lets the group write. It starts the product, reads the block, and follows one event with each of the released clients. Without Python 3.11
 * or PyPI, the Python client is skipped, and the reason is printed.
 */
const root = join(import.meta.dirname, '../..');
const maxTreeBytes = 60_000_000;
const installMs = 8 * 60_000;
const startMs = 60_000;
/** Packages, or beginnings of their names, that only developers need. */
const forbidden =
  /^(typescript|esbuild|@esbuild\/|vite|rollup|@rollup\/|rolldown|@rolldown\/|vitest|@vitest\/|tsx|oxlint|oxfmt|knip|eslint|prettier|playwright|puppeteer|node-gyp)/;

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
const [product, client] = ['sluice', 'sluice-client'].map((name) => join(root, `release/${name}-${version}.tgz`)) as [string, string];

process.umask(0o002);
const folder = mkdtempSync(join(tmpdir(), 'sluice-installed-'));
const env = {
  PATH: process.env['PATH'],
  HOME: folder,
  ...(process.env['NODE_EXTRA_CA_CERTS'] !== undefined && { NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] }),
  npm_config_cache: join(folder, 'cache'),
  npm_config_update_notifier: 'false',
  NO_COLOR: '1',
  PORT: '0',
};

/** All files below a folder, with their sizes on disk in bytes. */
function filesIn(path: string): readonly { readonly path: string; readonly bytes: number }[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: file, bytes: statSync(file).blocks * 512 }));
}

/** Names of the packages in a folder `node_modules`. */
function packagesIn(modules: string): readonly string[] {
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) => (name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name]));
}

async function blockOf(child: ChildProcess): Promise<{ readonly url: string; readonly apiKey: string; readonly command: string }> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  for (const endMs = Date.now() + installMs; Date.now() < endMs; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const url = /dashboard +(http:\/\/[^/\s]+)/.exec(output)?.[1];
    const apiKey = /API key +(sluice_\w+)/.exec(output)?.[1];
    const command = /live events +(.*)/.exec(output)?.[1];
    if (url !== undefined && apiKey !== undefined && command !== undefined) return { url, apiKey, command };
    if (child.exitCode !== null) break;
  }
  throw new Error(`start printed no block:\n${output}`);
}

function run(program: string, args: readonly string[], cwd: string, timeout: number): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, env, encoding: 'utf8', timeout });
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${error?.message ?? ''}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Installs the client in a folder of its own, checks the types of a program that uses it, and runs it. */
function followOne(url: string, apiKey: string): void {
  const app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"type":"module","private":true}');
  run('npm', ['install', '--no-audit', '--no-fund', client], app, installMs);
  const text = `import { Sluice, type EventOf } from '@sluice/client';
const sluice = new Sluice({ url: '${url}', apiKey: '${apiKey}' });
for await (const event of sluice.subscribe('trades', {})) {
  const trade: EventOf<'trades'> = event;
  if (trade.type !== 'trade') continue;
  console.log(trade.type, trade.mint);
  break;
}
sluice.close();
`;
  writeFileSync(join(app, 'app.mts'), text);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom', '--types', ''];
  run(process.execPath, [join(root, 'test/node_modules/typescript/bin/tsc'), ...options, 'app.mts'], app, startMs);
  writeFileSync(join(app, 'app.mjs'), text.replace(', type EventOf', '').replace(": EventOf<'trades'>", ''));
  assert.match(run(process.execPath, ['app.mjs'], app, startMs), /^trade \w+$/m);
}

/** The folder in which npx installed the product. */
function productTree(): string {
  const [npx] = readdirSync(join(folder, 'cache/_npx'));
  return join(folder, 'cache/_npx', npx ?? '');
}

/** Installs the Python client of the release with the command of its README, and follows an event. Returns why it cannot; null if it did. */
async function followOneInPython(url: string, apiKey: string): Promise<string | null> {
  const environment = join(folder, 'python');
  const python = join(environment, 'bin/python');
  const pip = [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  const steps = [
    ['python3', '-c', 'import sys; sys.exit("Python 3.11 is needed" if sys.version_info < (3, 11) else 0)'],
    ['python3', '-m', 'venv', environment],
    // If these cannot be had, PyPI is unreachable. A fault in our own package fails the run.
    [...pip, 'hatchling==1.27.0', 'httpx==0.28.1', 'websockets==15.0.1'],
  ];
  for (const [command = '', ...args] of steps) {
    const ran = await runToEnd(command, args, folder, installMs);
    if (ran.code !== 0) return lastLine(ran);
  }
  const release = join(productTree(), 'node_modules/sluice');
  const [, command = ''] = /```sh\npip install (.*)\n/.exec(readFileSync(join(release, 'clients/python/README.md'), 'utf8')) ?? [];
  const installed = await runToEnd(python, [...pip.slice(1), command], release, installMs);
  assert.equal(installed.code, 0, installed.output);
  const text = `import asyncio
from sluice_client import Sluice

async def main() -> None:
    async with Sluice("${url}", "${apiKey}") as sluice:
        async for event in sluice.subscribe("trades"):
            if event["type"] == "trade":
                print(event["type"], event["mint"])
                break

asyncio.run(main())
`;
  const program = join(folder, 'app.py');
  writeFileSync(program, text);
  assert.match(run(python, [program], folder, startMs), /^trade \w+$/m);
  return null;
}

function checkTree(): void {
  const tree = productTree();
  const files = filesIn(tree);
  const native = files.filter(({ path }) => /\/uWebSockets\.js\/uws_[^/]*\.node$/.test(path));
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const nativeBytes = native.reduce((sum, file) => sum + file.bytes, 0);
  console.log(`installed: ${toMb(bytes - nativeBytes)} MB, and ${toMb(nativeBytes)} MB of binaries of uWebSockets.js`);
  assert.ok(bytes - nativeBytes <= maxTreeBytes, 'the installed tree is too large');
  const packages = packagesIn(join(tree, 'node_modules'));
  console.log(`packages: ${packages.join(', ')}`);
  assert.deepEqual(
    packages.filter((name) => forbidden.test(name)),
    [],
  );
  checkSbom(join(tree, 'node_modules'));
  const lock = readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8');
  for (const name of packages.filter((each) => each !== 'sluice')) {
    const manifest = JSON.parse(readFileSync(join(tree, 'node_modules', name, 'package.json'), 'utf8')) as {
      name: string;
      version: string;
    };
    assert.match(
      lock,
      new RegExp(`^ {2}'?${manifest.name}@${manifest.version}'?:$`, 'm'),
      `${manifest.name} ${manifest.version} is not in the lock`,
    );
  }
}

/** The list of parts names every installed package, with a licence and a hash, and no compiler. */
function checkSbom(modules: string): void {
  interface Component {
    readonly purl: string;
    readonly licenses?: readonly object[];
    readonly externalReferences?: readonly { readonly hashes?: readonly object[] }[];
  }
  const bom = JSON.parse(readFileSync(join(modules, 'sluice/sbom.cdx.json'), 'utf8')) as {
    readonly bomFormat: string;
    readonly components: readonly Component[];
  };
  assert.equal(bom.bomFormat, 'CycloneDX');
  const others = bom.components.filter(({ purl }) => !purl.startsWith('pkg:npm/%40sluice/'));
  const names = others.map(({ purl }) => decodeURIComponent(purl.slice('pkg:npm/'.length, purl.lastIndexOf('@'))));
  for (const name of ['ioredis', 'pg', 'pino', 'libsql', 'uwebsockets', 'ws']) assert.ok(names.includes(name), `${name} is no part`);
  assert.deepEqual(
    names.filter((name) => forbidden.test(name)),
    [],
  );
  for (const { purl, licenses = [], externalReferences = [] } of others) {
    assert.ok(licenses.length > 0, `${purl} has no licence`);
    assert.ok(
      externalReferences.some(({ hashes = [] }) => hashes.length > 0),
      `${purl} has no hash`,
    );
  }
  console.log(`list of parts: ${bom.components.length}`);
}

function toMb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

let child: ChildProcess | null = null;
try {
  for (const path of [product, client]) assert.ok(existsSync(path), `${path} is missing`);
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const startedMs = Date.now();
  // With a plain absolute path, npx would run the file itself.
  child = spawn('npx', ['-y', `file:${product}`, 'start'], { cwd: empty, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = new Promise((resolve) => child?.once('close', resolve));
  const { url, apiKey, command } = await blockOf(child);
  console.log(`first start: ${((Date.now() - startedMs) / 1000).toFixed(1)} s, with the download`);
  followOne(url, apiKey);
  const python = await followOneInPython(url, apiKey);
  console.log(python === null ? 'The Python client follows an event.' : `skipped: the Python client of the release: ${python}`);
  const watched = spawnSync('sh', ['-c', `${command} | head -n 1`], { cwd: empty, env, encoding: 'utf8', timeout: startMs });
  assert.match(watched.stdout, /\S/, `${command}: ${watched.stderr}`);
  assert.ok(existsSync(join(empty, '.data/sluice.db')));
  checkTree();
  process.kill(-Number(child.pid), 'SIGTERM');
  await ended;
  await assert.rejects(fetch(url));
  console.log('The release works.');
} finally {
  if (child !== null && child.exitCode === null && child.signalCode === null) process.kill(-Number(child.pid), 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
