/** Deepest nesting of a frame; the deepest that nodes send, the account of a program, has seven levels. */
export const maxFrameDepth = 32;
/** A frame of a node begins with its method; it is looked for in so many bytes. */
const headBytes = 96;
const methodForm = /"method" ?: ?"([A-Za-z]{1,40})"/;
const quote = 34;
const colon = 58;
const backslash = 92;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/** The method at the beginning of a frame, without parsing it; null where it is an answer, or is written another way. */
export function methodAtHead(frame: Buffer): string | null {
  return methodForm.exec(frame.toString('latin1', 0, headBytes))?.[1] ?? null;
}

const zero = 48;
const tail = '}}';

/** The subscription that a notification names at its end, where nodes write it, without parsing it; null where there is none. */
export function subscriptionAtTail(frame: Buffer): number | null {
  let at = frame.length - tail.length - 1;
  if (frame[at + 1] !== closeBrace || frame[at + 2] !== closeBrace) return null;
  let id = 0;
  for (let place = 1; place < Number.MAX_SAFE_INTEGER; place *= 10, at--) {
    const digit = frame[at]! - zero;
    if (!(digit >= 0 && digit <= 9)) return place > 1 && frame[at] === colon ? id : null;
    id += digit * place;
  }
  return null;
}

/** Whether a JSON text nests deeper than any frame of a node, found without parsing it. */
export function isTooDeep(frame: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < frame.length; at++) {
    const byte = frame[at]!;
    if (byte === quote) {
      at = endOfText(frame, at + 1);
      if (at === -1) return false; // no JSON: the parser says so
    } else if (byte === openBrace || byte === openBracket) {
      if (++depth > maxFrameDepth) return true;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return false;
}

/** Where the string that begins at `from` ends; -1 where it does not. */
function endOfText(frame: Buffer, from: number): number {
  for (let at = frame.indexOf(quote, from); at !== -1; at = frame.indexOf(quote, at + 1)) {
    let slashes = 0;
    while (frame[at - 1 - slashes] === backslash && at - 1 - slashes >= from) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}
