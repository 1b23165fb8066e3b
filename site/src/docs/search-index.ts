import type { SearchIndex } from '@sluice/shared/wire/rest/documents.ts';
import type { Html } from './html.ts';
import { plainText } from './markdown.ts';
import type { Topic } from './topics.ts';

type Section = SearchIndex['pages'][number]['sections'][number];

/** All pages by their headings, with the words below each heading: text, names of fields, and code. */
export function searchIndexOf(topics: readonly Topic[]): SearchIndex {
  return {
    pages: topics.map(({ name, title, summary, content }) => ({
      path: `/docs/${name}`,
      title,
      sections: [...sectionsOf(content, summary)],
    })),
  };
}

/** A heading, or the beginning of a section. Only those with an id can be opened. */
const marks = /<(h[2-6]|section) id="([^"]+)">/g;

/** The parts of a page between its anchors. The first one, without an anchor, is what comes before them. */
function sectionsOf({ html }: Html, summary: string): readonly Section[] {
  // The samples repeat names of the fields in three languages.
  const text = html.replaceAll(/<div class="samples">[^]*?<\/div>/g, ' ');
  const found = [...text.matchAll(marks)];
  const before = text.slice(0, found[0]?.index);
  const sections = found.map(({ 0: tag, 1: element, 2: anchor = '', index }, at) =>
    sectionOf(anchor, `${element === 'section' ? '' : tag}${text.slice(index + tag.length, found[at + 1]?.index)}`),
  );
  const opening = wordsIn(before);
  return [{ anchor: '', title: '', text: opening === '' ? summary : opening }, ...sections.filter(({ title }) => title !== '')];
}

/** `html` begins with its heading. A section that only holds other ones has no heading, and no title. */
function sectionOf(anchor: string, html: string): Section {
  const heading = /^\s*<h\d[^>]*>([^]*?)<\/h\d>/.exec(html);
  return { anchor, title: wordsIn(heading?.[1] ?? ''), text: wordsIn(html.slice(heading?.[0].length ?? 0)) };
}

/** The text of HTML from the functions of this folder, in one line. */
function wordsIn(html: string): string {
  const parted = html.replaceAll(/<\/(?:p|h\d|t[dh]|d[td]|li|pre|div)>/g, ' ');
  return plainText(parted.replaceAll(/<[^>]*>/g, ''))
    .replaceAll(/\s+/g, ' ')
    .trim();
}
