import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultsOf, typeFaults } from '../blocks/check.ts';
import { endless, notRun } from '../blocks/commands.ts';
import { differences, shownJson } from '../blocks/shape.ts';
import { blocksIn, blocksOf, commandsOf, documentFiles } from '../blocks/find.ts';

const root = join(import.meta.dirname, '../..');
const blocks = documentFiles(root).flatMap((file) => blocksIn(root, file));
const one = (text: string) => blocksOf('a.md', text)[0]!;

/** `pnpm test:docs` runs the blocks. This checks them without running. */
describe('the code blocks of the documents', () => {
  it('are of a known kind, and valid', () => {
    expect(blocks.length).toBeGreaterThan(40);
    expect(blocks.flatMap(faultsOf)).toEqual([]);
  });

  it('are all run: by `test:docs`, or by a test of its own', () => {
    const listed = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
    const withPrograms = listed.filter((file) => blocksIn(root, file).some(({ kind }) => kind !== ''));
    const run = [...documentFiles(root), 'test/simnet/README.md'];
    expect(withPrograms.filter((file) => !run.includes(file))).toEqual([]);
  });

  it('have correct types', () => {
    expect(typeFaults(blocks)).toEqual([]);
  });

  it('are saved under a name that a later command runs', () => {
    for (const { file, line, note } of blocks.filter(({ kind, note: name }) => name !== '' && kind !== 'json')) {
      const later = blocks.filter((block) => block.file === file && block.line > line);
      const used = later.some(({ text }) => text.includes(note));
      const served = blocks.some((block) => block.file === file && block.text.includes(`'${note}'`));
      expect(used || served, `${file}:${line} ${note}`).toBe(true);
    }
  });

  it('contain every command that needs special care', () => {
    const commands = blocks.filter(({ kind }) => kind === 'sh').flatMap(commandsOf);
    for (const { command } of [...notRun, ...endless])
      expect(
        commands.some((each) => command.test(each)),
        String(command),
      ).toBe(true);
  });

  it('are compared with answers by their shape', () => {
    const shown = shownJson('{"id":1,"op":"subscribed","positions":{"a":{"seq":1}},"data":{"type":"trade",…}}');
    const answer = { id: 1, op: 'subscribed', positions: { a: { seq: 7 } }, data: { type: 'trade', more: 1 } };
    expect(differences(shown, answer)).toEqual([]);
    expect(differences({ ...shown, isPartial: false }, answer)).toEqual(['.data.more is not in the document']);
    expect(differences(shown, { ...answer, op: 'error' })).toEqual(['.op is "error"']);
    expect(differences(shown, { ...answer, positions: { a: { seq: '7' } } })).toHaveLength(1);
    expect(differences(shown, { ...answer, positions: {} })).toEqual(['.positions.a is not in the answer']);
  });

  it('are refused if they are wrong', () => {
    expect(faultsOf(one('```\nx\n```\n'))).toEqual([expect.stringContaining("a.md:2: nobody knows how to run a block of the kind ''")]);
    expect(faultsOf(one('```sh\nif\n```\n'))).toHaveLength(1);
    expect(faultsOf(one('```json quote\n{"side":\n```\n'))).toHaveLength(1);
    expect(faultsOf(one('```json\n{}\n```\n'))).toEqual([expect.stringContaining('name the schema')]);
    expect(faultsOf(one('```json trade\n{}\n```\n'))).toEqual(['a.md:2: it does not match the schema trade']);
    expect(faultsOf(one('```env\nPORT=x\n```\n'))).toEqual([expect.stringMatching(/^a\.md:2: PORT: /)]);
    const wrong = "text\n\n```ts\nimport { Sluice } from '@sluice/client';\nnew Sluice({ url: 1 });\n```\n";
    expect(typeFaults([one(wrong)])).toEqual([expect.stringMatching(/^a\.md:5: error TS/)]);
  });
});
