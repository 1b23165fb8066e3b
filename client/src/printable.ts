/** Control and format characters: escape sequences begin with one, and direction marks turn the text around them. Line ends too. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A name or symbol that a stranger chose, in a form that cannot act on a terminal. */
export function printable(text: string): string {
  return text.replace(unprintable, '');
}
