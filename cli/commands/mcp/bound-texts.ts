import { cleanText } from '@sluice/shared/metadata/clean-text.ts';

/** Characters of the texts that creators of tokens choose, by field. A model reads all of them. */
const maxChars: ReadonlyMap<string, number> = new Map([
  ['name', 64],
  ['symbol', 32],
  ['description', 280],
]);
/** Links that creators choose. A shortened link leads to another page, so a link that is too long becomes null. */
const links: ReadonlySet<string> = new Set(['uri', 'image', 'twitter', 'telegram', 'website']);
const maxLinkChars = 256;

/** The answer of a tool with the texts of strangers cleaned and shortened. */
export function boundTexts<T>(answer: T): T {
  return bounded(answer, '') as T;
}

function bounded(value: unknown, field: string): unknown {
  if (typeof value === 'string') {
    const max = maxChars.get(field);
    if (max !== undefined) return cleanText(value, max);
    return links.has(field) && value.length > maxLinkChars ? null : value;
  }
  if (Array.isArray(value)) return value.map((each) => bounded(each, field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, bounded(each, name)]));
}
