import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { blocksOf } from '../blocks/find.ts';
import { commandNames } from './control/commands.ts';
import { methodNames } from './rpc/dispatch.ts';

const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');

it('names every method and every command, and no others', () => {
  const methods = /\*\*Methods\*\*:([^]*?)\n\n/.exec(readme)?.[1] ?? '';
  expect([...methods.matchAll(/\b(?:get|is|send|simulate|request)[A-Z]\w*/g)].map(([name]) => name).toSorted()).toEqual(
    [...methodNames].toSorted(),
  );
  const commands = [...readme.matchAll(/^\| `\{"op":"(\w+)"/gm)].map(([, name]) => name ?? '');
  expect(commands.toSorted()).toEqual([...commandNames].toSorted());
});

it('shows a program that records and replays', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-readme-'));
  try {
    const [block] = blocksOf('README.md', readme);
    const program = block!.text.replaceAll('recorded.jsonl', join(folder, 'recorded.jsonl'));
    const flags = ['--import', 'tsx', '--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: join(import.meta.dirname, '..') });
    const [, transactions = '', replayed = ''] = /transactions: (\d+), replayed: (\d+)/.exec(stdout) ?? [];
    expect(Number(transactions)).toBeGreaterThan(0);
    expect(replayed).toBe(transactions);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
