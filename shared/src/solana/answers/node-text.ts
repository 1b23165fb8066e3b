/** Longest text of a node that is written to a log or an error. */
const maxShownChars = 200;
/** Characters that a terminal or a log would interpret. */
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** A text from a node in a form that can be shown and logged: one line of bounded length. */
export function shownText(text: string): string {
  const shown = text.slice(0, maxShownChars).replace(control, ' ');
  return text.length > maxShownChars ? `${shown}…` : shown;
}
