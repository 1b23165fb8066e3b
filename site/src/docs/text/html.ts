/** A piece of HTML. Only `html` and the renderer of documents create it, so that all text is escaped. */
export interface Html {
  readonly html: string;
}

type Part = Html | string | number | readonly Html[];

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function textOf(part: Part): string {
  if (typeof part === 'number') return String(part);
  if (typeof part === 'string') return part.replaceAll(/[&<>"']/g, (character) => entities[character]!);
  return 'html' in part ? part.html : part.map((one) => one.html).join('');
}

/** HTML from a template; every text in it is escaped. */
export function html(parts: TemplateStringsArray, ...values: readonly Part[]): Html {
  return { html: parts.map((part, at) => part + (at < values.length ? textOf(values[at]!) : '')).join('') };
}

/** The text of HTML in one line. */
export function wordsIn(text: string): string {
  const parted = text.replaceAll(/<\/(?:p|h\d|t[dh]|li|pre|div)>/g, ' ').replaceAll(/<[^>]*>/g, '');
  return Object.entries(entities)
    .toReversed()
    .reduce((plain, [character, entity]) => plain.replaceAll(entity, character), parted)
    .replaceAll(/\s+/g, ' ')
    .trim();
}
