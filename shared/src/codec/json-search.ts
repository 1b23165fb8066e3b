const quote = 0x22;

/** The text after a mark in JSON, up to the next quote. Null if there is none. */
export function textAfter(json: Uint8Array, mark: Buffer): string | null {
  const bytes = asBuffer(json);
  const at = bytes.indexOf(mark);
  if (at === -1) return null;
  const from = at + mark.length;
  const end = bytes.indexOf(quote, from);
  return end === -1 ? null : bytes.toString('latin1', from, end);
}

/** The integer, 0 or more, after a mark in JSON. Null if there is none. */
export function integerAfter(json: Uint8Array, mark: Buffer): number | null {
  const bytes = asBuffer(json);
  const at = bytes.indexOf(mark);
  if (at === -1) return null;
  const from = at + mark.length;
  let end = from;
  let value = 0;
  for (let digit = digitAt(bytes, end); digit >= 0 && digit <= 9; digit = digitAt(bytes, ++end)) value = value * 10 + digit;
  return end === from ? null : value;
}

function digitAt(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) - 0x30;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
