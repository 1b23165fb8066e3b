import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runProgram } from '../support/processes.ts';

/**
 * A loader of TypeScript stores what it compiled in a shared folder. Here another user of the machine created that folder first, with
 * poisoned modules and links to a file of the user that runs the product. If the tests run as root, both are real users.
 */
const root = join(import.meta.dirname, '../..');
const ownUser = process.getuid?.() ?? 0;
const [victim, neighbour] = ownUser === 0 ? [12_345, 12_346] : [ownUser, ownUser];
const canRun = ownUser !== 0 || spawnSync('test', ['-r', join(root, 'package.json')], { uid: victim, gid: victim }).status === 0;
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const poison = 'this code is poisoned';

let folder: string;
let shared: string;
let secrets: string;
let cache: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-shared-'));
  shared = join(folder, 'tmp');
  secrets = join(folder, 'secrets');
  cache = join(shared, `tsx-${victim}`);
  for (const path of [shared, join(folder, 'data'), secrets, cache]) mkdirSync(path);
  chmodSync(folder, 0o755);
  chmodSync(shared, 0o1777);
  chmodSync(cache, 0o777);
  for (const path of [join(folder, 'data'), secrets]) chownSync(path, victim, victim);
  chownSync(cache, neighbour, neighbour);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/**
 * As the loader would compile the signing process's modules, with the poison before the code. Every second one is a link to a file of the
 * victim.
 */
function plant(): readonly string[] {
  const made = join(folder, 'made');
  mkdirSync(made);
  const modules = spawnSync(process.execPath, ['--import', tsx, join(root, 'trading/src/signer/main.ts'), '{}'], {
    // What the loader compiles depends on where it runs.
    cwd: folder,
    env: { PATH: process.env['PATH'], TMPDIR: made },
    input: '',
    uid: ownUser,
  });
  expect(modules.error).toBeUndefined();
  const compiled = join(made, `tsx-${ownUser}`);
  const names = readdirSync(compiled);
  for (const [index, name] of names.entries()) {
    const place = join(cache, name);
    const module = JSON.parse(readFileSync(join(compiled, name), 'utf8')) as { code: string };
    if (index % 2 === 0) {
      writeFileSync(join(secrets, name), 'a secret', { mode: 0o600 });
      chownSync(join(secrets, name), victim, victim);
      symlinkSync(join(secrets, name), place);
    } else writeFileSync(place, JSON.stringify({ ...module, code: `process.stderr.write('${poison}\\n');${module.code}` }));
  }
  return names;
}

it.skipIf(!canRun)('files of another user in the temporary folder are neither run nor followed', async () => {
  const planted = plant();
  expect(planted.length).toBeGreaterThan(20);
  const env = { TMPDIR: shared, DATA_DIR: join(folder, 'data'), PORT: '0', HOME: folder, LOG_LEVEL: 'info' };
  const program = runProgram('cli/start.ts', { folder, env, ...(ownUser === 0 && { user: victim }) });
  await program.logged('signer_ready', 60_000);
  expect(await program.stop()).toBe(0);
  expect(program.log.filter(({ msg }) => msg.includes(poison))).toEqual([]);
  for (const name of readdirSync(secrets)) expect(readFileSync(join(secrets, name), 'utf8')).toBe('a secret');
  expect(readdirSync(cache).toSorted()).toEqual(planted.toSorted());
  expect(existsSync(join(folder, 'data/sluice.db'))).toBe(true);
});
