import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { guidePages, readGuides } from '@sluice/site/docs/text/guides.ts';
import { textOfGateway } from '@sluice/site/docs/text/local-url.ts';
import { topicOf } from '@sluice/site/docs/text/topic.ts';
import { describe, expect, it } from 'vitest';
import { documents } from '../../compile/programs.mjs';

const root = join(import.meta.dirname, '../..');
const guides = readGuides();

/** About two screens of a browser. */
const readmeLines = 70;

it('the README fits on two screens, and leads to each guide', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  expect(readme.split('\n').length).toBeLessThanOrEqual(readmeLines);
  for (const command of ['npx -y pnpm@12 start', 'npx -y pnpm@12 test']) expect(readme).toContain(command);
  for (const name of readdirSync(join(root, 'docs/guides'))) expect(readme).toContain(`](docs/guides/${name})`);
});

describe('the guides', () => {
  it('are all pages, and are part of a build', () => {
    const files = Object.keys(guidePages);
    expect(files.toSorted()).toEqual([...documents].toSorted());
    for (const name of readdirSync(join(root, 'docs/guides'))) expect(files).toContain(`docs/guides/${name}`);
  });

  it('have a title, a summary of one sentence, and the address of this gateway', () => {
    const textHere = (text: string): string => textOfGateway(text, { url: 'https://sluice.coins.io', isKeyless: false });
    for (const { name, title, summary, content, markdown } of guides) {
      expect(title, name).not.toBe('');
      expect(summary, name).toMatch(/^[^\n]{20,200}\.$/);
      expect(content.html).not.toContain('<h1');
      expect(textHere(markdown)).not.toMatch(/(http|ws):\/\/127\.0\.0\.1:8080/);
    }
    expect(textHere(guides.find(({ name }) => name === 'first-hour')!.content.html)).toContain('wss://sluice.coins.io/api/data');
  });

  it('link to files that exist', () => {
    for (const file of Object.keys(guidePages)) {
      const text = readFileSync(join(root, file), 'utf8').replaceAll(/```[^]*?```/g, '');
      for (const [, path = ''] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
        if (!path.startsWith('https://')) expect(existsSync(join(root, dirname(file), path)), `${file}: ${path}`).toBe(true);
      }
    }
  });

  it('become safe HTML, with links to other pages', () => {
    const text = `# A *title*

First <script>alert(1)</script> \`a<b\`. More.

## Two words: \`code\`

[One](charts.md), [two](../OPERATING.md#backups), [none](../../LICENSE), [far](https://example.com). ![picture](x.png)

## Two words: code
`;
    const { summary, content, entries, markdown } = topicOf('a', text, { pages: guidePages, folder: 'docs/guides' });
    expect(summary).toBe('First <script>alert(1)</script> a<b.');
    expect(content.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; <code>a&lt;b</code>');
    expect(content.html).not.toMatch(/<(script|img)/);
    expect(entries.map(({ id }) => id)).toEqual(['two-words-code', 'two-words-code-1']);
    expect(content.html).toContain('<a href="/docs/charts">One</a>, <a href="/docs/operating#backups">two</a>, none,');
    expect(markdown).toContain('[One](/docs/charts.md), [two](/docs/operating.md), none, [far](https://example.com)');
  });
});
