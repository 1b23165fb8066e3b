import { withLatinLetters } from './look-alikes.ts';

/**
 * `hidden`: characters that cannot be seen or that turn the text around. `alike`: letters that only look like Latin ones. `mixed`: letters of
 * several scripts.
 */
export type NameFault = 'hidden' | 'mixed' | 'alike';

export interface ReadName {
  /** What is shown: without hidden characters, shortened. Empty if nothing is left. */
  readonly text: string;
  /** Null for a plain name. */
  readonly fault: NameFault | null;
}

/** Characters that are shown at most. */
const maxShown = 64;
/** Longer texts are cut before they are examined. */
const maxRead = 256;

/**
 * Control, format (direction marks, zero-width characters), private, unassigned and ignorable characters, unpaired surrogates, and the sign of
 * Braille without dots.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|\u2800/gu;
/** They are replaced by the usual space. */
const otherSpaces = /(?! )\p{Zs}/gu;
/** A joiner between pictures, and the signs that choose their form, belong to an emoji. */
const emojiParts =
  /(?<=\p{Extended_Pictographic}(?:\uFE0F|\p{Emoji_Modifier})?)\u200D(?=\p{Extended_Pictographic})|\uFE0E|\uFE0F|[\u{E0020}-\u{E007F}]/gu;
/** More marks on one letter than a language has cover the lines above and below. */
const stackedMarks = /(\p{M}{2})\p{M}+/gu;

/** Scripts whose letters are written together in one word, by language. A name with letters outside of all of these is mixed. */
const together: readonly RegExp[] = [
  /^\p{Script_Extensions=Latin}*$/u,
  /^[\p{Script_Extensions=Latin}\p{Script_Extensions=Han}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}]*$/u,
  /^[\p{Script_Extensions=Latin}\p{Script_Extensions=Han}\p{Script_Extensions=Hangul}]*$/u,
  /^[\p{Script_Extensions=Latin}\p{Script_Extensions=Han}\p{Script_Extensions=Bopomofo}]*$/u,
];
const scripts =
  'Cyrillic Greek Arabic Hebrew Thai Lao Khmer Myanmar Tibetan Sinhala Devanagari Bengali Gujarati Gurmukhi Tamil Telugu Kannada Malayalam Georgian Armenian Ethiopic Mongolian';
const alone = new RegExp(
  `^(?:${scripts
    .split(' ')
    .map((name) => `\\p{Script_Extensions=${name}}*`)
    .join('|')})$`,
  'u',
);

/** What may be shown of a name that anybody may have chosen, and what is wrong with it. */
export function readName(raw: string): ReadName {
  const cut = raw.length > maxRead ? raw.slice(0, maxRead) : raw;
  const ofEmoji = new Set(Array.from(cut.matchAll(emojiParts), ({ index }) => index));
  const visible = cut.replaceAll(hidden, (char, at: number) => (ofEmoji.has(at) ? char : ''));
  const clean = visible.replaceAll(otherSpaces, ' ').replaceAll(stackedMarks, '$1').replaceAll(/ +/g, ' ').trim();
  const text = clean.length > maxShown ? `${clean.slice(0, maxShown).replace(/[\uD800-\uDBFF]$/, '')}…` : clean;
  return { text, fault: faultOf(cut, cut.replaceAll(emojiParts, '')) };
}

function faultOf(raw: string, withoutEmoji: string): NameFault | null {
  // Padding with zeros at the end is how some programs store a text.
  const padded = withoutEmoji.replace(/\0+$/, '');
  if (padded.search(hidden) !== -1 || padded.search(otherSpaces) !== -1 || raw.search(stackedMarks) !== -1) return 'hidden';
  const letters = withoutEmoji.normalize('NFC').replaceAll(/[^\p{L}]/gu, '');
  const asLatin = withLatinLetters(letters);
  if (asLatin !== letters && /^[A-Za-z]+$/.test(asLatin)) return 'alike';
  return together.some((set) => set.test(letters)) || alone.test(letters) ? null : 'mixed';
}

const words: Readonly<Record<NameFault, string>> = {
  hidden: 'The name contains characters that cannot be seen, or that turn it around.',
  alike: 'The name contains letters that only look like Latin ones.',
  mixed: 'The name mixes letters of several scripts.',
};

export const nameFaultText = (fault: NameFault): string => words[fault];
