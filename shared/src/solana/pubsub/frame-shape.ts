/** Deepest allowed nesting of a frame. The deepest that nodes send, the account of a program, has seven levels. */
export const maxFrameDepth = 32;
/** A node's frame begins with its method, which is searched for in this many bytes. */
const headBytes = 96;
const methodForm = /"method" ?: ?"([A-Za-z]{1,40})"/;
const quote = 34;
const colon = 58;
const backslash = 92;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/** The method at the beginning of a frame, found without parsing; null if the frame is an answer, or is written in another way. */
export function methodAtHead(frame: Buffer): string | null {
  return methodForm.exec(frame.toString('latin1', 0, headBytes))?.[1] ?? null;
}

const zero = 48;
const tail = '}}';

/** The subscription that a notification names at its end, where nodes write it, found without parsing; null if there is none. */
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

/** Whether a JSON text is nested deeper than any frame of a node, found without parsing. */
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

/** Index at which the string that begins at `from` ends; -1 if it does not end. */
function endOfText(frame: Buffer, from: number): number {
  for (let at = frame.indexOf(quote, from); at !== -1; at = frame.indexOf(quote, at + 1)) {
    let slashes = 0;
    while (frame[at - 1 - slashes] === backslash && at - 1 - slashes >= from) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}
