import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sourceFolders } from '../../compile/programs.mjs';
import { copyProject } from '../support/product/project-copy.ts';

const project = join(import.meta.dirname, '../..');
let root: string;
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-build-')));
  copyProject(root);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Runs `sluice --help`, or a build alone, from the copy of the project. */
function run(...args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'run.mjs'), ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('close', (code) => resolve({ code, output }));
  });
}

const builds = (): readonly string[] => readdirSync(join(root, '.build')).filter((name) => name !== 'current');
const help = { code: 0, output: expect.stringContaining('Usage: sluice <command>') };
const current = (name: string): string => join(realpathSync(join(root, '.build/current')), name);

it(
  'several concurrent starts compile once; other sources are compiled again; a build without sources is used as it is',
  { timeout: 120_000 },
  async () => {
    expect(await Promise.all([1, 2, 3].map(() => run('sluice', '--help')))).toEqual([help, help, help]);
    expect(builds()).toHaveLength(1);

    const source = join(root, 'cli/commands/run-command-line.ts');
    const text = readFileSync(source, 'utf8');
    writeFileSync(source, text.replace('Usage: sluice <command>', 'Usage: SLUICE <command>'));
    expect(await run('sluice', '--help')).toEqual({ code: 0, output: expect.stringContaining('Usage: SLUICE <command>') });
    expect(builds()).toHaveLength(2);
    writeFileSync(source, 'this is (no program');
    expect(await run('sluice', '--help')).toEqual({
      code: 1,
      output: expect.stringMatching(/cli\/commands\/run-command-line\.ts:1.*The project cannot be compiled/s),
    });
    writeFileSync(source, text);
    // The same content as at first, at another time.
    expect(await run('sluice', '--help')).toEqual(help);
    expect(builds()).toHaveLength(2);

    for (const folder of sourceFolders.filter((name) => name !== 'compile')) rmSync(join(root, folder), { recursive: true });
    expect(await run('sluice', '--help')).toEqual(help);
  },
);

it('nothing runs that other users could have written', async () => {
  const refused = (path: string, why: string) => ({
    code: 1,
    output: expect.stringMatching(new RegExp(`^${path.replaceAll('.', '\\.')} ${why}.*install the release again`)),
  });
  const program = current('sluice.js');
  chmodSync(program, 0o666);
  expect(await run('sluice', '--help')).toEqual(refused(program, 'can be written by others \\(mode 0666\\)'));
  chmodSync(program, 0o600);
  chmodSync(join(root, '.build'), 0o777);
  expect(await run('sluice', '--help')).toEqual(refused(join(root, '.build'), 'can be written by others'));
  chmodSync(join(root, '.build'), 0o700);
  if (process.getuid?.() === 0) {
    chownSync(program, 12_345, 12_345);
    expect(await run('sluice', '--help')).toEqual(refused(program, 'belongs to the user 12345'));
    chownSync(program, 0, 0);
  }
  rmSync(program);
  symlinkSync(join(project, 'cli/sluice.ts'), program);
  expect(await run('sluice', '--help')).toEqual(refused(program, 'is not a file'));
  rmSync(join(root, '.build'), { recursive: true });
  symlinkSync(join(project, '.build'), join(root, '.build'));
  expect(await run('sluice', '--help')).toEqual(refused(join(root, '.build'), 'is not a folder'));
});
