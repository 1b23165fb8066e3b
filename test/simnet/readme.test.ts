import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
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
