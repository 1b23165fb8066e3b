/** Longest text of a node that reaches a log or an error. */
const maxShownChars = 200;
/** What a terminal or a log would take for something else than text. */
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** A node's own words, as they may be shown and logged: one line of bounded length. */
export function shownText(text: string): string {
  const shown = text.slice(0, maxShownChars).replace(control, ' ');
  return text.length > maxShownChars ? `${shown}…` : shown;
}
