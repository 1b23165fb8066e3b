/**
 * A copy in memory of its own. `Buffer.from` and `Buffer.concat` give views of a shared 8 KB block: one such view that is held for long
 * keeps the whole block.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
