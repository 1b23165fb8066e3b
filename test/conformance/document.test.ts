import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { generateProtocolTables } from '@sluice/shared/wire/documents/docs.ts';

it('REFERENCE.md has the tables of the current schemas', () => {
  const document = readFileSync(new URL('../../docs/REFERENCE.md', import.meta.url), 'utf8');
  expect(document).toContain(`<!-- generated: protocol -->\n${generateProtocolTables()}\n<!-- /generated -->`);
});
