import { findSections } from '@sluice/site/web/docs/search-index.ts';
import { docsSite } from '@sluice/site/docs/page.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { errorTable } from '@sluice/shared/wire/errors.ts';
import { closeCodes } from '@sluice/shared/wire/stream/close-codes.ts';
import { asyncApiDocument } from '@sluice/shared/wire/documents/openapi/asyncapi.ts';
import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { docsSearchEndpoint } from '@sluice/shared/wire/rest/operations/documents.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { describe, expect, it } from 'vitest';

const openApi = openApiDocument(endpoints, { version: '1.0.0', plans: Object.values(defaultPlans) });
const { search, pages } = docsSite(openApi, asyncApiDocument({ version: '1.0.0' }), { assets: [], version: '0.1.0' });
/** Pages whose own text contains no HTML. */
const isWithoutHtml = (path: string): boolean => /^\/docs\/(http-|stream|schemas)/.test(path);
const hrefsOf = (query: string): readonly string[] => findSections(search, query, 1_000).sections.map(({ href }) => href);

describe('the search of the documentation', () => {
  it('has every page but the first, and only anchors that exist', () => {
    expect(validator(docsSearchEndpoint.answer)(search).ok).toBe(true);
    expect(search.pages.map(({ path }) => path)).toEqual(pages.slice(1).map(({ name }) => `/docs/${name}`));
    for (const [at, { path, sections }] of search.pages.entries()) {
      for (const { anchor, title, text } of sections) {
        expect(pages[at + 1]!.html).toContain(anchor === '' ? '<main>' : ` id="${anchor}"`);
        if (isWithoutHtml(path)) expect(`${title}${text}`).not.toMatch(/<\/|&(lt|amp|quot);|\n/);
      }
      // Each anchor of the navigation can be found.
      for (const [, anchor] of pages[at + 1]!.html.matchAll(/<h2 id="([^"]+)"/g))
        expect(sections.map((one) => one.anchor)).toContain(anchor);
    }
  });

  it('finds words that are only in texts, tables and code', () => {
    expect(hrefsOf('newTokenBalance')).toContain('/docs/coming-from-pumpportal#what-is-different');
    expect(hrefsOf('priorityFee')).toContain('/docs/http-trading#tradeBuy');
    expect(hrefsOf('Idempotency-Key')).toContain('/docs/http-trading#tradeBuy');
    expect(hrefsOf('close code 4008')[0]).toBe('/docs/stream#stream-closes');
    expect(hrefsOf('KEYSTORE_PASSPHRASE_FILE')).toContain('/docs/operating#run-the-signing-process-under-its-own-user');
    for (const { code } of closeCodes()) expect(hrefsOf(String(code))).toContain('/docs/stream#stream-closes');
    for (const code of Object.keys(errorTable)) expect(hrefsOf(code)).toContain('/docs/errors');
    const all = JSON.stringify(search);
    for (const [name] of JSON.stringify(openApi['components']).matchAll(/(?<="properties":\{")\w+/g)) expect(all).toContain(name);
  });

  it('requires all words, and lists headings with these words first', () => {
    expect(hrefsOf('  ')).toEqual([]);
    expect(hrefsOf('backup nosuchword')).toEqual([]);
    expect(hrefsOf('BACKUPS')[0]).toBe('/docs/operating#backups');
    expect(hrefsOf('trade/buy')[0]).toBe('/docs/http-trading#tradeBuy');
    expect(hrefsOf('rate limits')[0]).toBe('/docs/limits');
    const two = findSections(search, 'pump', 2);
    expect(two.sections).toHaveLength(2);
    expect(two.total).toBeGreaterThan(20);
  });

  it('shows the text around the words, and marks them', () => {
    const index = {
      pages: [
        { path: '/docs/a', title: 'A', sections: [{ anchor: 'b', title: 'B', text: `${'far '.repeat(60)}(x) Here ${'on '.repeat(60)}` }] },
      ],
    };
    const [{ excerpt } = { excerpt: [] }] = findSections(index, 'here (x', 9).sections;
    expect(excerpt.filter(({ isMatch }) => isMatch).map(({ text }) => text)).toEqual(['(x', 'Here']);
    const text = excerpt.map((piece) => piece.text).join('');
    expect(text).toMatch(/^…far .* far \(x\) Here on .* on…$/);
    expect(text.length).toBeLessThan(150);
    for (const query of ['e', 'a b', '.*', '\\', '[', '…']) {
      for (const one of findSections(search, query, 9).sections)
        expect(one.excerpt.map((piece) => piece.text).join('').length).toBeLessThan(150);
    }
  });
});
