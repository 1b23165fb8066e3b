import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';
/** The longest content of a frame. A longer frame makes the connection unusable. */
const maxFrameBytes = 16_384;
const headBytes = 4;

/** A frame: the length of the content (u32, little-endian), then JSON in UTF-8. Bytes are base64, big integers decimal strings. */
export function encodeFrame(content: object): Uint8Array {
  const text = JSON.stringify(plain(content));
  const length = Buffer.byteLength(text);
  if (length > maxFrameBytes) throw new RangeError(`A frame holds ${maxFrameBytes} bytes at most, not ${length}.`);
  const frame = Buffer.allocUnsafe(headBytes + length);
  frame.writeUInt32LE(length);
  frame.write(text, headBytes);
  return frame;
}

/** Copies the content into values that JSON can represent. It avoids `Buffer.toJSON`, which makes an array of numbers. */
function plain(content: object): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(content)) {
    if (value instanceof Uint8Array) copy[name] = base64Of(value);
    else if (typeof value === 'bigint') copy[name] = value.toString();
    else copy[name] = typeof value === 'object' && value !== null ? plain(value) : value;
  }
  return copy;
}

/** The stream cannot be read any further, and the connection must be closed. */
export class FrameError extends Error {}

/** Assembles frames from the pieces of a stream. Holds at most one unfinished frame. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Adds a piece, and returns the contents that are complete now, in order. Throws `FrameError`. */
  push(piece: Uint8Array): readonly unknown[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(piece) : Buffer.concat([this.#rest, piece]);
    const contents: unknown[] = [];
    for (;;) {
      if (this.#rest.length < headBytes) return contents;
      const length = this.#rest.readUInt32LE();
      if (length > maxFrameBytes) throw new FrameError('a frame is longer than any');
      if (this.#rest.length < headBytes + length) return contents;
      contents.push(parse(this.#rest.toString('utf8', headBytes, headBytes + length)));
      this.#rest = this.#rest.subarray(headBytes + length);
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FrameError('a frame holds no JSON', { cause: error });
  }
}
