import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { copyProject } from '../support/product/project-copy.ts';

/**
 * The project is in a folder that others may write to. Node.js looks there for packages, and esbuild for packages and settings, if they are
 * not found in the project. The planted code creates the file `ran` when it runs.
 */
const project = join(import.meta.dirname, '../..');
let folder: string;
let root: string;
let ran: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-above-')));
  [root, ran] = [join(folder, 'sluice'), join(folder, 'ran')];
  children = [];
  mkdirSync(root);
  copyProject(root);
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function plant(path: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  const text = `appendFileSync(${JSON.stringify(ran)}, ${JSON.stringify(`${path}\n`)});`;
  writeFileSync(file, `const { appendFileSync } = process.getBuiltinModule('node:fs'); ${text} module.exports = {};`);
}

/** Runs `run.mjs` of the copy to its end, or until it prints `until`. */
async function run(args: readonly string[], until?: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [join(root, 'run.mjs'), ...args], {
    cwd: root,
    env: { ...(PATH && { PATH }), NO_COLOR: '1', HOME: folder, DATA_DIR: join(root, 'data'), PORT: '0', LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (until !== undefined && !child.killed && output.includes(until)) child.kill('SIGTERM');
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

const whatRan = (): string => (existsSync(ran) ? readFileSync(ran, 'utf8') : '');
const builds = (): readonly string[] => readdirSync(join(root, '.build'));
const refused = (...parts: readonly string[]) => ({
  code: 1,
  output: expect.stringMatching(new RegExp(parts.map((part) => part.replaceAll('.', '\\.')).join('.*'), 's')),
});

it('no package and no setting of a folder above is used', { timeout: 180_000 }, async () => {
  for (const name of ['bufferutil', 'utf-8-validate', 'pg-native', 'pg-cloudflare', 'supports-color', 'libsql']) {
    plant(`node_modules/${name}/index.js`);
  }
  plant('ioredis.js');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { paths: { ioredis: ['./ioredis.js'] } } }));
  // The genuine machine code, so that its hash is correct, with other code around it.
  const server = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
  plant('node_modules/uWebSockets.js/index.js');
  symlinkSync(join(project, 'node_modules/uWebSockets.js', server), join(folder, 'node_modules/uWebSockets.js', server));
  rmSync(join(root, 'node_modules/uWebSockets.js'));

  const started = await run(['start'], 'signer_ready');
  expect(started).toEqual({ code: 0, output: expect.stringContaining('signer_ready') });
  expect(started.output).toContain('not_readable');
  expect(whatRan()).toBe('');

  // Compiled before, and deleted since.
  rmSync(join(root, 'node_modules/libsql'));
  expect(await run(['start'])).toEqual(refused(`Cannot find module '${root}/node_modules/libsql'`));
  expect(whatRan()).toBe('');
});

it('no compiler of a folder above is used', async () => {
  const compiler = join(root, 'node_modules/esbuild');
  rmSync(compiler);
  for (const module of ['index.js', 'lib/main.js']) plant(`node_modules/esbuild/${module}`);
  expect(await run(['build'])).toEqual(refused(`${compiler}/package.json is missing`, 'pnpm@12 install'));

  // A compiler without its machine code.
  for (const path of ['package.json', 'lib']) {
    cpSync(join(project, 'node_modules/esbuild', path), join(compiler, path), { recursive: true });
  }
  const planted = `node_modules/@esbuild/${process.platform}-${process.arch}`;
  plant(`${planted}/bin/esbuild`);
  expect(await run(['build'])).toEqual(refused(`esbuild would load ${folder}/${planted}`, 'pnpm@12 install'));
  expect(builds()).toEqual([]);
  expect(whatRan()).toBe('');
});

it('code outside the project, and code that a manifest above names, is not compiled', async () => {
  for (const name of ['.pnp.data.json', '.pnp.cjs', '.pnp.js']) {
    plant(name);
    expect(await run(['build'])).toEqual(refused(`${folder}/${name} would decide`, 'Nothing was compiled', 'Remove the file'));
    rmSync(join(folder, name));
  }
  const genuine = join(root, 'gateway/node_modules/typebox');
  renameSync(genuine, join(folder, 'moved'));
  cpSync(join(project, 'gateway/node_modules/typebox'), join(folder, 'node_modules/typebox'), { recursive: true, dereference: true });
  expect(await run(['build'])).toEqual(refused(`${folder}/node_modules/typebox/`, 'is not part of the project', 'The build was removed'));
  expect(builds()).toEqual([]);

  renameSync(join(folder, 'moved'), genuine);
  expect(await run(['build'])).toEqual({ code: 0, output: '' });
  expect(builds()).toHaveLength(2);
});
