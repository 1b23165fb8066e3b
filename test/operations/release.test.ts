import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownCommand, ownProgram } from '../../cli/start/own-command.ts';
import { releasedText } from '../../compile/release/pack.mjs';
import { installStaged } from '../support/product/staged-release.ts';

/** The content of the release, installed without npm. `pnpm test:release` installs the real package. */
let folder: string;
let release: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-release-')));
  release = installStaged(folder);
  mkdirSync(join(folder, 'node_modules/.bin'));
  symlinkSync('../sluice/sluice', join(folder, 'node_modules/.bin/sluice'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Result {
  readonly code: number | null;
  readonly output: string;
}

function sluice(...args: readonly string[]): Promise<Result> {
  return new Promise((resolve) => {
    const { PATH } = process.env;
    const env = { ...(PATH && { PATH }), HOME: folder, DATA_DIR: join(folder, 'data'), PORT: '0', NO_COLOR: '1' };
    const child = spawn(join(folder, 'node_modules/.bin/sluice'), args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('close', (code) => resolve({ code, output }));
  });
}

const help = { code: 0, output: expect.stringContaining('Usage: sluice <command>') };

it('runs the programs and the commands, and names its own command', async () => {
  expect(await sluice('--help')).toEqual(help);
  expect(await sluice('keys', 'list', '--json')).toEqual({ code: 0, output: expect.stringContaining('[]') });
  expect(await sluice('gateway')).toEqual({ code: 1, output: expect.stringContaining('REDIS_URL') });
  expect(await sluice('ingest')).toEqual({ code: 1, output: expect.stringContaining('SOLANA_RPC_URL') });
  expect(ownCommand(release, folder)).toBe('npx sluice');
  expect(ownCommand(release, '/')).toBe(join(folder, 'node_modules/.bin/sluice'));
  expect(ownProgram(release)).toEqual({ command: join(folder, 'node_modules/.bin/sluice'), args: [] });
  expect(ownCommand()).toBe('npx -y pnpm@12 sluice');
});

it('contains plain JavaScript, and depends on exact versions of what it loads at run time', () => {
  const { dependencies, optionalDependencies, ...manifest } = JSON.parse(readFileSync(join(release, 'package.json'), 'utf8'));
  expect(Object.keys({ ...dependencies, ...optionalDependencies })).toEqual(['libsql', 'uWebSockets.js']);
  expect(manifest).not.toHaveProperty('devDependencies');
  expect(dependencies.libsql).toMatch(/^\d+\.\d+\.\d+$/);
  expect(optionalDependencies['uWebSockets.js']).toMatch(/^npm:uwebsockets@\d+\.\d+\.\d+$/);
  const files = readdirSync(release, { recursive: true, encoding: 'utf8' });
  expect(files.filter((name) => /\.ts$|^\.build\/current\/generate|(^|\/)node_modules($|\/)/.test(name))).toEqual([]);
  const bytes = files.reduce((sum, name) => sum + statSync(join(release, name)).size, 0);
  expect(bytes).toBeLessThan(20_000_000);
  const notices = readFileSync(join(release, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['ioredis', 'pg', 'libsql', 'uwebsockets', 'pino']) expect(notices).toMatch(new RegExp(`^${name} \\d`, 'm'));
  expect(notices).not.toContain('esbuild');
});

it('contains everything to which its documents link, and the Python client', () => {
  const files = readdirSync(release, { recursive: true, encoding: 'utf8' });
  const python = ['README.md', 'pyproject.toml', 'src/sluice_client/__init__.py', 'src/sluice_client/py.typed'];
  expect(files).toEqual(expect.arrayContaining(python.map((name) => `clients/python/${name}`)));
  expect(files.filter((name) => /\.pyc$|^clients\/python\/tests/.test(name))).toEqual([]);
  const documents = files.filter((name) => name.endsWith('.md'));
  expect(documents).toEqual(
    expect.arrayContaining(['README.md', 'docs/OPERATING.md', 'docs/PROTOCOL.md', 'SECURITY.md', 'docs/guides/first-hour.md']),
  );
  const links = documents.flatMap((name) => {
    const text = readFileSync(join(release, name), 'utf8').replaceAll(/```[^]*?```|`[^`\n]*`/g, '');
    return [...text.matchAll(/\]\(([^)#\s:]+)(#[^)]*)?\)/g)].map(([, path = '']) => join(dirname(name), path));
  });
  expect(links.length).toBeGreaterThan(30);
  expect(links.filter((path) => !existsSync(join(release, path)))).toEqual([]);
});

it('names commands that npx and npm can run from any folder', () => {
  const text = releasedText('/a/sluice-0.1.0.tgz', '/a/sluice-client-0.1.0.tgz');
  expect(text).toContain('npx -y file:/a/sluice-0.1.0.tgz start');
  expect(text).toContain('npm install file:/a/sluice-client-0.1.0.tgz');
});

it('takes the right to write from the group of its owner, and refuses what others could have written', async () => {
  const build = join(release, '.build');
  const program = join(build, 'current/sluice.js');
  const [folderMode, fileMode] = [0o775, 0o664];
  for (const path of [build, join(build, 'current')]) chmodSync(path, folderMode);
  chmodSync(program, fileMode);
  const alone = await sluice('--help');
  // On a machine where the user has no group of its own, the release must be installed with another umask.
  if (alone.code === 0) expect([build, program].map((path) => statSync(path).mode & 0o777)).toEqual([0o755, 0o644]);
  else expect(alone.output).toContain('umask 022');
  chmodSync(build, 0o755);
  chmodSync(join(build, 'current'), 0o755);
  chmodSync(program, 0o646);
  expect(await sluice('--help')).toEqual({ code: 1, output: expect.stringContaining(`${program} can be written by others (mode 0646)`) });
  chmodSync(program, 0o644);
  if (process.getuid?.() === 0) {
    chownSync(program, 12_345, 12_345);
    expect(await sluice('--help')).toEqual({ code: 1, output: expect.stringContaining('belongs to the user 12345') });
    chownSync(program, 0, 0);
  }
  expect(await sluice('--help')).toEqual(help);
});

it('loads no package from a folder above the one in which it is installed', async () => {
  const inner = join(folder, 'inner/node_modules');
  mkdirSync(inner, { recursive: true });
  const ran = join(folder, 'ran');
  for (const name of ['sluice', '.bin']) renameSync(join(folder, 'node_modules', name), join(inner, name));
  writeFileSync(join(folder, 'node_modules/libsql/index.js'), `require('node:fs').writeFileSync(${JSON.stringify(ran)}, '')`);
  const child = spawn(join(inner, 'sluice/sluice'), ['--help'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringMatching(/libsql\/package\.json is missing\. Install the release again/),
  });
  expect(readdirSync(folder)).not.toContain('ran');
});

it('has one version everywhere, and CHANGELOG.md describes it', () => {
  const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const versions = [
    '.',
    'client',
    'gateway',
    'ingest',
    'shared',
    'site',
    'trading',
    'test',
    'test/node-versions',
    'test/simnet',
    'venues',
  ].map((part) => (JSON.parse(read(`${part}/package.json`)) as { version: string }).version);
  const [newest, ...older] = [...read('CHANGELOG.md').matchAll(/^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/gm)].map(
    ([, version]) => version,
  );
  expect(new Set(versions)).toEqual(new Set([newest]));
  expect(older).not.toContain(newest);
});
