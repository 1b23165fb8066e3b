import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import { codeBlock, html, type Html } from './html.ts';
import type { Topic } from './topics.ts';

/** Documents that people wrote, and the names of their pages. The compiler puts them into the folder of the programs (`documents` in `compile/programs.mjs`). */
export const guideFiles: Readonly<Record<string, string>> = {
  'first-hour': 'docs/guides/first-hour.md',
  'sniping-bot': 'docs/guides/sniping-bot.md',
  charts: 'docs/guides/charts.md',
  'placing-orders': 'docs/guides/placing-orders.md',
  'trading-in-the-page': 'docs/guides/trading-in-the-page.md',
  'operating-sluice': 'docs/guides/operating-sluice.md',
  'coming-from-pumpportal': 'docs/guides/coming-from-pumpportal.md',
  'typescript-client': 'client/README.md',
  'python-client': 'clients/python/README.md',
  protocol: 'docs/PROTOCOL.md',
  operating: 'docs/OPERATING.md',
};

export interface Guide extends Topic {
  readonly markdown: string;
}

/** The documents as pages. */
export function readGuides(): readonly Guide[] {
  const texts = readTexts();
  return Object.entries(guideFiles).map(([name, file]) => ({ name, ...guideOf(texts[file]!, posix.dirname(file)) }));
}

/** The documents by their paths: from the build, or from the sources if this module runs uncompiled. */
function readTexts(): Readonly<Record<string, string>> {
  if (!import.meta.url.endsWith('.ts')) {
    return JSON.parse(readFileSync(new URL('documents.json', import.meta.url), 'utf8')) as Readonly<Record<string, string>>;
  }
  const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
  return Object.fromEntries(Object.values(guideFiles).map((file) => [file, read(file)]));
}

/** One document. `folder`: its links are relative to this folder. */
export function guideOf(text: string, folder: string): Omit<Guide, 'name'> {
  const marked = new Marked();
  const tokens = marked.lexer(text);
  const title = tokens.find((token): token is Tokens.Heading => token.type === 'heading')?.text ?? '';
  const entries = headingsOf(tokens)
    .filter(({ depth }) => depth === 2)
    .map(({ id, text: label }) => ({ id, label: plainOf(label) }));
  const first = tokens.find((token): token is Tokens.Paragraph => token.type === 'paragraph');
  const summary = /^.*?[.!?](?=\s|$)/s.exec(plainOf(first?.text ?? ''))?.[0].replaceAll('\n', ' ') ?? '';
  const content = contentOf(
    tokens.filter((token) => !(token.type === 'heading' && (token as Tokens.Heading).depth === 1)),
    folder,
  );
  const markdown = text.replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (_, label: string, address: string) => {
    const target = targetOf(address, folder, '.md');
    return target === null ? label : `[${label}](${target})`;
  });
  return { title, summary, content, entries, markdown };
}

/** Text without the marks of code, links and emphasis. */
function plainOf(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');
}

/** Anchors as on GitHub, so that a link works in both places. */
function headingsOf(tokens: readonly Token[]): readonly { readonly depth: number; readonly id: string; readonly text: string }[] {
  const seen = new Map<string, number>();
  return tokens
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map(({ depth, text }) => {
      const slug = plainOf(text)
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-');
      const count = seen.get(slug) ?? 0;
      seen.set(slug, count + 1);
      return { depth, id: count === 0 ? slug : `${slug}-${count}`, text };
    });
}

function contentOf(tokens: Token[], folder: string): Html {
  const ids = headingsOf(tokens).map(({ id }) => id);
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens: inner }) {
        return `<h${depth} id="${ids.shift()}">${this.parser.parseInline(inner)}</h${depth}>`;
      },
      code: ({ text, lang = '' }) => codeBlock(/^\w+/.exec(lang)?.[0] ?? 'text', text).html,
      codespan: ({ text }) => html`<code>${text}</code>`.html,
      // The pages load nothing.
      image: ({ text }) => html`${text}`.html,
      html: ({ text }) => html`${text}`.html,
      link({ href, tokens: inner }) {
        const label = { html: this.parser.parseInline(inner) };
        const target = targetOf(href, folder, '');
        return target === null ? label.html : html`<a href="${target}">${label}</a>`.html;
      },
    },
  });
  return { html: marked.parser(tokens).replaceAll('<table>', '<div class="wide"><table>').replaceAll('</table>', '</table></div>') };
}

/** Where a link of a document leads on the pages; null if there is no such page. `suffix`: `.md` in the Markdown form. */
function targetOf(address: string, folder: string, suffix: '' | '.md'): string | null {
  if (/^(https?:|#|\/)/.test(address)) return address;
  const [path = '', anchor] = address.split('#');
  const file = posix.normalize(posix.join(folder, path));
  const page = file === 'docs/REFERENCE.md' ? '/docs' : pageOf(file, suffix);
  return page === null || anchor === undefined || suffix === '.md' || page === '/docs' ? page : `${page}#${anchor}`;
}

function pageOf(file: string, suffix: '' | '.md'): string | null {
  const name = Object.keys(guideFiles).find((each) => guideFiles[each] === file);
  return name === undefined ? null : `/docs/${name}${suffix}`;
}
