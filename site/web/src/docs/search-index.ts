import type { SearchIndex } from '@sluice/shared/wire/rest/operations/documents.ts';

/** A section that contains the words of a query, with the text around them. */
export type FoundSection = ReturnType<typeof findSections>['sections'][number];

/** Points for one word of a query, by the place where it is. Each repetition in the text adds one, up to `maxRepetitions`. */
const points = { title: 20, page: 8, phrase: 20, maxRepetitions: 5 };
const excerptLength = 140;
const before = 40;

/** The sections that contain all words of the query, in their heading, in their text or in the title of their page: how many there are, and the best first. */
export function findSections({ pages }: SearchIndex, query: string, max: number) {
  const words = query.toLowerCase().match(/\S+/g) ?? [];
  const found = pages
    .flatMap(({ path, title: page, sections }) =>
      sections.map(({ anchor, title: heading, text }) => {
        const title = heading === '' ? page : heading;
        return { href: anchor === '' ? path : `${path}#${anchor}`, page, title, text, score: scoreOf(title, page, text, words) };
      }),
    )
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score);
  const sections = found.slice(0, max).map(({ href, page, title, text }) => ({ href, page, title, excerpt: excerptOf(text, words) }));
  return { sections, total: found.length };
}

/** Zero if a word is missing, or if there is none. */
function scoreOf(heading: string, pageTitle: string, sectionText: string, words: readonly string[]): number {
  const [title, page, text] = [heading.toLowerCase(), pageTitle.toLowerCase(), sectionText.toLowerCase()];
  const scores = words.map(
    (word) =>
      (title.includes(word) ? points.title : 0) +
      (page.includes(word) ? points.page : 0) +
      Math.min(text.split(word).length - 1, points.maxRepetitions),
  );
  if (scores.includes(0)) return 0;
  const isPhrase = words.length > 1 && `${title} ${text}`.includes(words.join(' '));
  return scores.reduce((sum, score) => sum + score, isPhrase ? points.phrase : 0);
}

/** The text around the words as they were typed, or around the rarest of them, in pieces; `isMatch`: one of the words. */
function excerptOf(text: string, words: readonly string[]) {
  const lower = text.toLowerCase();
  const rarestFirst = words.toSorted((a, b) => lower.split(a).length - lower.split(b).length);
  const places = [words.join(' '), ...rarestFirst].map((word) => lower.indexOf(word)).filter((place) => place !== -1);
  const first = places[0] ?? 0;
  const start = first < before ? 0 : Math.min(text.indexOf(' ', first - before) + 1, first);
  const space = text.lastIndexOf(' ', start + excerptLength);
  const end = text.length <= start + excerptLength ? text.length : space > first ? space : start + excerptLength;
  const shown = `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
  const escaped = words.toSorted((a, b) => b.length - a.length).map((word) => word.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&'));
  return shown
    .split(new RegExp(`(${escaped.join('|')})`, 'i'))
    .map((part, at) => ({ text: part, isMatch: at % 2 === 1 }))
    .filter((piece) => piece.text !== '');
}
