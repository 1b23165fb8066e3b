/** `at`: the field or value that is wrong (`filter.minSol`), or empty for the whole body. */
export type BodyRead<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly at: string; readonly what: string };

/** No name or text of ours has this character, and PostgreSQL cannot store it. So requests with it are refused before a handler sees them. */
const nul = '\0';

export const nulFault = 'must not contain U+0000';

export function hasNul(text: string): boolean {
  return text.includes(nul);
}

/** A text in UTF-8 without the byte order mark (EF BB BF) that editors and some programs write before it. RFC 8259 lets a reader skip it. */
export function withoutBom<Bytes extends Uint8Array>(text: Bytes): Bytes {
  const isMarked = text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf;
  return isMarked ? (text.subarray(3) as Bytes) : text;
}

/** Null if the escapes are incomplete or not UTF-8. */
export function percentDecoded(text: string): string | null {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
