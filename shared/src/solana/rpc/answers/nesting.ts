/** Deepest allowed nesting; correct answers have about ten levels. A deeper text can crash code that walks it by recursion. */
export const maxNesting = 64;

const quote = 0x22;
const backslash = 0x5c;
const isOpening = (byte: number): boolean => byte === 0x7b || byte === 0x5b;
const isClosing = (byte: number): boolean => byte === 0x7d || byte === 0x5d;

/** Whether a JSON text (UTF-8) is nested deeper, found without parsing. For a text that is not JSON, the result is undefined. */
export function isTooDeep(json: Uint8Array, max = maxNesting): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!;
    if (byte === quote) at = endOfString(json, at);
    else if (isOpening(byte)) {
      if (++depth > max) return true;
    } else if (isClosing(byte)) depth--;
  }
  return false;
}

function endOfString(json: Uint8Array, start: number): number {
  for (let at = json.indexOf(quote, start + 1); at !== -1; at = json.indexOf(quote, at + 1)) {
    let escapes = 0;
    while (json[at - 1 - escapes] === backslash) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return json.length;
}
