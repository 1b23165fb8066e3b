/**
 * A copy in memory of its own. `Buffer.from` and `Buffer.concat` return views of a shared block of 8 KB, and one view that lives long keeps
 * the whole block in memory.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/** A view of the same bytes. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The JSON value that is written in UTF-8. Throws a `SyntaxError` if the bytes are not JSON. */
export function parseJson(json: Uint8Array): unknown {
  return JSON.parse(bufferOf(json).toString('utf8'));
}

/** The same; null if the bytes are not JSON. */
export function jsonOrNull(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
