/** Deepest allowed nesting of a frame. The deepest that nodes send, the account of a program, has seven levels. */
export const maxFrameDepth = 32;
/** A node's frame begins with its method, which is searched for in this many bytes. */
const headBytes = 96;
const methodForm = /"method" ?: ?"([A-Za-z]{1,40})"/;
const colon = 58;
const closeBrace = 125;

/** The method at the beginning of a frame, found without parsing; null if the frame is an answer, or is written in another way. */
export function methodAtHead(frame: Buffer): string | null {
  return methodForm.exec(frame.toString('latin1', 0, headBytes))?.[1] ?? null;
}

/** Null if it is not JSON. */
export function parseFrame(frame: Buffer): unknown {
  try {
    return JSON.parse(frame.toString());
  } catch {
    return null;
  }
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
