import { base64Of } from '@sluice/shared/solana/bytes.ts';
/** Longest content of a frame; whoever sends a longer one is not understood any more. */
const maxFrameBytes = 16_384;
const headBytes = 4;

/** A frame: the content's length (u32, little-endian), then the content, JSON in UTF-8; bytes in base64, big integers in digits. */
export function encodeFrame(content: object): Uint8Array {
  const text = JSON.stringify(plain(content));
  const length = Buffer.byteLength(text);
  if (length > maxFrameBytes) throw new RangeError(`A frame holds ${maxFrameBytes} bytes at most, not ${length}.`);
  const frame = Buffer.allocUnsafe(headBytes + length);
  frame.writeUInt32LE(length);
  frame.write(text, headBytes);
  return frame;
}

/** A copy that JSON can say. Its own `toJSON` of a `Buffer`, an array of numbers, is not asked. */
function plain(content: object): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(content)) {
    if (value instanceof Uint8Array) copy[name] = base64Of(value);
    else if (typeof value === 'bigint') copy[name] = value.toString();
    else copy[name] = typeof value === 'object' && value !== null ? plain(value) : value;
  }
  return copy;
}

/** What follows cannot be read: the connection is of no use any more. */
export class FrameError extends Error {}

/** Puts frames together from the pieces of a stream. Holds one unfinished frame at most. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The contents that are whole now, in order. Throws `FrameError`. */
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
