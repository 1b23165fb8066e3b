/** What `/docs/search.json` contains. */
export interface SearchIndex {
  readonly pages: readonly {
    readonly path: string;
    readonly title: string;
    readonly sections: readonly { readonly anchor: string; readonly title: string; readonly text: string }[];
  }[];
}

/** A part of an excerpt; `isMatch`: it is one of the words that the reader typed. */
export interface Piece {
  readonly text: string;
  readonly isMatch: boolean;
}

export interface FoundSection {
  readonly href: string;
  readonly page: string;
  /** Its heading; the title of the page if it is the beginning of the page. */
  readonly title: string;
  readonly excerpt: readonly Piece[];
}

export interface Found {
  /** The best ones, best first. */
  readonly sections: readonly FoundSection[];
  /** How many there are. */
  readonly total: number;
}

/** A section as the search reads it. */
interface Entry {
  readonly href: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
  readonly lowerTitle: string;
  readonly lowerPage: string;
  readonly lowerText: string;
}

/** Points for one word of a query, by the place where it is. A name that only contains the word gets fewer. */
const points = { title: 40, inTitle: 15, page: 8, text: 6, inText: 1 };
/** Further points if the words follow each other as they were typed. */
const phrasePoints = 20;
/** Each repetition in the text adds a little, up to this number. */
const maxRepetitions = 5;
const excerptLength = 140;
const before = 40;

export function entriesOf({ pages }: SearchIndex): readonly Entry[] {
  return pages.flatMap(({ path, title: page, sections }) =>
    sections.map(({ anchor, title: heading, text }) => {
      const title = heading === '' ? page : heading;
      return {
        href: anchor === '' ? path : `${path}#${anchor}`,
        page,
        title,
        text,
        lowerTitle: title.toLowerCase(),
        lowerPage: page.toLowerCase(),
        lowerText: text.toLowerCase(),
      };
    }),
  );
}

const wordsOf = (query: string): readonly string[] => query.toLowerCase().split(/\s+/).filter(Boolean);

/** The sections that contain all words of the query, in their heading, in their text or in the title of their page. */
export function findSections(entries: readonly Entry[], query: string, max: number): Found {
  const words = wordsOf(query);
  if (words.length === 0) return { sections: [], total: 0 };
  const found = entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score);
  const sections = found.slice(0, max).map(({ entry: { href, page, title, text, lowerText } }) => ({
    href,
    page,
    title,
    excerpt: excerptOf(text, lowerText, words),
  }));
  return { sections, total: found.length };
}

/** Zero if a word is missing. */
function scoreOf({ lowerTitle, lowerPage, lowerText }: Entry, words: readonly string[]): number {
  const scores = words.map((word) => {
    const repetitions = Math.min(lowerText.split(word).length - 1, maxRepetitions);
    return (
      (hasWord(lowerTitle, word) ? points.title : lowerTitle.includes(word) ? points.inTitle : 0) +
      (lowerPage.includes(word) ? points.page : 0) +
      (hasWord(lowerText, word) ? points.text : repetitions > 0 ? points.inText : 0) +
      repetitions
    );
  });
  if (scores.includes(0)) return 0;
  const phrase = words.join(' ');
  const isPhrase = words.length > 1 && `${lowerTitle} ${lowerText}`.includes(phrase);
  return scores.reduce((sum, score) => sum + score, isPhrase ? phrasePoints : 0);
}

/** Whether the word is there and not only a part of a longer one. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!isLetter(text[at - 1]) && !isLetter(text[at + word.length])) return true;
  }
  return false;
}

const isLetter = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);

/** The text around the words as they were typed, or around the rarest of them, with all of them marked. */
function excerptOf(text: string, lowerText: string, words: readonly string[]): readonly Piece[] {
  const phrase = lowerText.indexOf(words.join(' '));
  const [rarest] = words
    .map((word) => ({ place: lowerText.indexOf(word), count: lowerText.split(word).length }))
    .filter(({ place }) => place !== -1)
    .toSorted((a, b) => a.count - b.count);
  const first = phrase !== -1 ? phrase : (rarest?.place ?? text.length);
  const from = first < before || first === text.length ? 0 : text.indexOf(' ', first - before) + 1;
  const start = from > first ? first : from;
  const space = text.lastIndexOf(' ', start + excerptLength);
  const end = text.length <= start + excerptLength ? text.length : space > first ? space : start + excerptLength;
  const shown = piecesOf(text.slice(start, end), words);
  const dots = (isCut: boolean): readonly Piece[] => (isCut ? [{ text: '…', isMatch: false }] : []);
  return [...dots(start > 0), ...shown, ...dots(end < text.length)];
}

function piecesOf(text: string, words: readonly string[]): readonly Piece[] {
  const escaped = words.toSorted((a, b) => b.length - a.length).map((word) => word.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&'));
  return text
    .split(new RegExp(`(${escaped.join('|')})`, 'i'))
    .map((part, at) => ({ text: part, isMatch: at % 2 === 1 }))
    .filter((piece) => piece.text !== '');
}
