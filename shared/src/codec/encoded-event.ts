/** Encoded events are cut from slabs, because an allocation for each of them would cost more. */
const slabBytes = 64 * 1024;
let slab = Buffer.allocUnsafeSlow(slabBytes);
let slabUsed = 0;

/** The characters of the text as bytes. Each must be below 256. */
export function bytesOf(text: string): Uint8Array {
  const { length } = text;
  if (length > slabBytes) return Buffer.from(text, 'latin1');
  if (slabUsed + length > slabBytes) {
    slab = Buffer.allocUnsafeSlow(slabBytes);
    slabUsed = 0;
  }
  slab.write(text, slabUsed, 'latin1');
  const bytesOfText = slab.subarray(slabUsed, slabUsed + length);
  slabUsed += length;
  return bytesOfText;
}

/** JSON of a text that needs no escapes, or of null. */
export function quoted(text: string | null): string {
  return text === null ? 'null' : `"${text}"`;
}
