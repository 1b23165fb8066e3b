import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { generateProtocolTables } from '@sluice/shared/wire/docs.ts';

it('PROTOCOL.md carries the tables of the schemas as they are', () => {
  const document = readFileSync(new URL('../../PROTOCOL.md', import.meta.url), 'utf8');
  expect(document).toContain(`<!-- generated: protocol -->\n${generateProtocolTables()}\n<!-- /generated -->`);
});
