/**
 * A copy in memory of its own. `Buffer.from` and `Buffer.concat` return views of a shared block of 8 KB, and one view that lives long keeps
 * the whole block in memory.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
