/** Control and format characters: escape sequences begin with one, and direction marks turn the text around them. Line ends too. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/gu;
/** The same in a text of several lines, apart from the colours that sluice itself writes. */
// oxlint-disable-next-line no-control-regex
const unprintableOrColour = /\u001B\[(?:0|1|2|31|32)m|[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu;
/** What `JSON.stringify` leaves as it is. */
const unescaped = /[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Control characters as `JSON.stringify` writes them, except for the end of a line. */
const escapedControl = /(?<=(?<!\\)(?:\\\\)*)\\(?:u00[01][\da-f]|[bfr])/gi;

/** A text from outside (a token's name, a message of a node or a gateway) in a form that cannot act on a terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(unprintable, '');
}

/** What a program prints. Keeps line ends, tabs and our own colours. */
export function terminalText(text: string): string {
  return text.replaceAll(unprintableOrColour, (match) => (match.length > 1 && match.startsWith('\u001B') ? match : ''));
}

/** The same JSON, in which every character that could act on a terminal is escaped. */
export function terminalJson(json: string): string {
  return json.replaceAll(unescaped, (match) =>
    Array.from({ length: match.length }, (_, at) => `\\u${match.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** The same JSON without these characters, for a reader that prints its texts. */
export function printableJson(json: string): string {
  return json.replaceAll(unescaped, '').replaceAll(escapedControl, '');
}

/** A copy of a JSON value with `oneLine` applied to every text in it. */
export function printableValue<T>(value: T): T {
  if (typeof value === 'string') return oneLine(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: unknown) => printableValue(each)) as T;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, printableValue(each as unknown)])) as T;
}
