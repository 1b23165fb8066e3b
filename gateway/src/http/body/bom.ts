/** A text in UTF-8 without the byte order mark (EF BB BF) that editors and some programs write before it. RFC 8259 lets a reader skip it. */
export function withoutBom<Bytes extends Uint8Array>(text: Bytes): Bytes {
  const isMarked = text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf;
  return isMarked ? (text.subarray(3) as Bytes) : text;
}
