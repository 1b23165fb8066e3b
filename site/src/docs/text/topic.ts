import { posix } from 'node:path';
import type { SearchIndex } from '@sluice/shared/wire/rest/operations/documents.ts';
import { Marked, type Token, type Tokens } from 'marked';
import { html, wordsIn, type Html } from './html.ts';

/** One page of the documentation, made from Markdown. */
export interface Topic {
  /** Last part of its path: `/docs/<name>`. */
  readonly name: string;
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
  /** Without the title. */
  readonly content: Html;
  /** Its parts in the navigation. */
  readonly entries: readonly { readonly id: string; readonly label: string }[];
  /** Its words, by the headings above them. */
  readonly sections: SearchIndex['pages'][number]['sections'];
  /** Its Markdown form, with the addresses of this site. */
  readonly markdown: string;
}

/** What documents refer to. */
export interface Surroundings {
  /** Documents that are pages: their names by their paths. */
  readonly pages: Readonly<Record<string, string>>;
  /** Links of the document are relative to this folder. */
  readonly folder: string;
  /** Elements of a page by the comment that marks their place: `try quote` for `<!-- try quote -->`. */
  readonly elements?: Readonly<Record<string, Html>>;
}

/** The anchor of a heading: `## Limits <!-- #stream-limits -->`. In a document that has such marks, other headings have none. */
const anchorMark = / <!-- #([\w-]+) -->/;

export function topicOf(name: string, text: string, around: Surroundings): Topic {
  const tokens = new Marked().lexer(text);
  const headings = headingsOf(tokens);
  const first = tokens.find((token): token is Tokens.Paragraph => token.type === 'paragraph');
  const summary = /^.*?[.!?](?=\s|$)/s.exec(plainOf(first?.text ?? ''))?.[0].replaceAll('\n', ' ') ?? '';
  const content = contentOf(tokens, headings, around);
  return {
    name,
    title: headings[0]?.label ?? '',
    summary,
    content: { html: content },
    entries: headings.filter(({ depth }) => depth === 2),
    sections: sectionsOf(content, summary),
    markdown: markdownOf(text, around),
  };
}

interface Heading {
  readonly depth: number;
  /** Empty if it has no anchor. */
  readonly id: string;
  readonly label: string;
}

/** Anchors that are not marked are as on GitHub, so that a link works in both places. */
function headingsOf(tokens: readonly Token[]): readonly Heading[] {
  const seen = new Map<string, number>();
  const headings = tokens.filter((token): token is Tokens.Heading => token.type === 'heading');
  const areMarked = headings.some(({ text }) => anchorMark.test(text));
  return headings.map(({ depth, text }) => {
    const label = plainOf(text.replace(anchorMark, ''));
    if (areMarked) return { depth, id: anchorMark.exec(text)?.[1] ?? '', label };
    const slug = label
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return { depth, id: count === 0 ? slug : `${slug}-${count}`, label };
  });
}

/** Text without the marks of code, links and emphasis. */
function plainOf(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');
}

function contentOf(tokens: Token[], headings: readonly Heading[], around: Surroundings): string {
  const left = [...headings];
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens: inner }) {
        const { id } = left.shift()!;
        const anchor = id === '' ? '' : ` id="${id}"`;
        return depth === 1 ? '' : `<h${depth}${anchor}>${this.parser.parseInline(inner).trim()}</h${depth}>`;
      },
      code: ({ text, lang = '' }) => codeOf(text, lang).html,
      codespan: ({ text }) => html`<code>${text}</code>`.html,
      // The pages load nothing.
      image: ({ text }) => html`${text}`.html,
      html({ text }) {
        const [, mark] = /^<!-- (.*) -->\s*$/.exec(text) ?? [];
        return mark === undefined ? html`${text}`.html : (around.elements?.[mark]?.html ?? '');
      },
      link({ href, tokens: inner }) {
        const label = { html: this.parser.parseInline(inner) };
        const target = targetOf(href, around, '');
        return target === null ? label.html : html`<a href="${target}">${label}</a>`.html;
      },
    },
  });
  return marked.parser(tokens).replaceAll('<table>', '<div class="wide"><table>').replaceAll('</table>', '</table></div>');
}

/** A block of code. `lang` is its language, and what it is: `json recorded`, or `sh sample tradeBuy curl`; a page opens one sample of a group at a time. */
function codeOf(text: string, lang: string): Html {
  const [language = '', kind, group = '', title = ''] = lang.split(' ');
  const block = html`<pre><code class="language-${/^\w+/.exec(language)?.[0] ?? 'text'}">${text}</code></pre>`;
  if (kind === 'recorded') return html`<div class="recorded">${block}</div>`;
  if (kind !== 'sample') return block;
  const open = language === 'sh' ? html` open` : '';
  return html`<details class="sample" name="samples-${group}" ${open}>
    <summary>${title}</summary>
    ${block}
  </details>`;
}

/** The parts of a page between its headings. The first one, without a heading, is what comes before them. */
function sectionsOf(content: string, summary: string): Topic['sections'] {
  // The samples repeat names of the fields in three languages.
  const [opening = '', ...parts] = content.replaceAll(/<details class="sample"[^]*?<\/details>/g, ' ').split(/<h\d id="/);
  return [
    { anchor: '', title: '', text: wordsIn(opening) || summary },
    ...parts.map((part) => {
      const [, anchor = '', title = '', text = ''] = /^([^"]*)">([^]*?)<\/h\d>([^]*)$/.exec(part)!;
      return { anchor, title: wordsIn(title), text: wordsIn(text) };
    }),
  ];
}

function markdownOf(text: string, around: Surroundings): string {
  return text
    .replaceAll(/`[^`]*`|\[([^\]]+)\]\(([^)\s]+)\)/g, (whole, label: string | undefined, address: string) => {
      if (label === undefined) return whole;
      const target = targetOf(address, around, '.md');
      return target === null ? label : `[${label}](${target})`;
    })
    .replaceAll(new RegExp(anchorMark, 'g'), '')
    .replaceAll(/^<!-- .* -->\n\n/gm, '');
}

/** Where a link leads on the pages; null if there is no such page. `suffix`: `.md` in the Markdown form. */
function targetOf(address: string, { pages, folder }: Surroundings, suffix: '' | '.md'): string | null {
  if (/^(https?:|#|\/(?!docs\/))/.test(address)) return address;
  const [path = '', anchor] = address.split('#');
  const file = posix.normalize(posix.join(folder, path));
  if (file === 'docs/REFERENCE.md') return '/docs';
  const page = path.startsWith('/docs/') ? path : file in pages ? `/docs/${pages[file]}` : null;
  if (page === null || suffix === '.md') return page === null ? null : `${page}.md`;
  return anchor === undefined ? page : `${page}#${anchor}`;
}
