/**
 * Reads one MessagePack value from a client: nil, booleans, numbers, strings, arrays, maps with string keys. Everything else is refused. The
 * work is bounded by the bytes that are present, so a header that claims a billion elements costs nothing.
 */
export type MsgpackOutcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

const maxDepth = 16;

interface Reader {
  readonly bytes: Buffer;
  at: number;
}

/** Thrown and caught in this file only. */
class Refused extends Error {}

export function decodeMsgpackCommand(bytes: Uint8Array): MsgpackOutcome {
  const reader: Reader = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), at: 0 };
  try {
    const value = read(reader, 0);
    return reader.at === bytes.byteLength ? { ok: true, value } : { ok: false };
  } catch (error) {
    // Buffer throws a RangeError if a length points past the end.
    if (error instanceof Refused || error instanceof RangeError) return { ok: false };
    throw error;
  }
}

/** The value of `id` if it is the first field of the map, read from the beginning of a message; otherwise undefined. */
export function firstMsgpackId(bytes: Uint8Array): unknown {
  const reader: Reader = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), at: 1 };
  const head = bytes[0] ?? 0;
  if (head === 0xde) reader.at = 3;
  else if (head === 0xdf) reader.at = 5;
  else if (head < 0x81 || head > 0x8f) return undefined;
  try {
    return read(reader, 1) === 'id' ? read(reader, 1) : undefined;
  } catch (error) {
    if (error instanceof Refused || error instanceof RangeError) return undefined;
    throw error;
  }
}

function read(reader: Reader, depth: number): unknown {
  const head = reader.bytes[reader.at++];
  if (head === undefined || depth > maxDepth) throw new Refused();
  if (head < 0x80) return head;
  if (head < 0x90) return readMap(reader, head & 0x0f, depth);
  if (head < 0xa0) return readArray(reader, head & 0x0f, depth);
  if (head < 0xc0) return readText(reader, head & 0x1f);
  if (head >= 0xe0) return head - 0x100;
  return readLong(reader, head, depth);
}

function readLong(reader: Reader, head: number, depth: number): unknown {
  switch (head) {
    case 0xc0:
      return null;
    case 0xc2:
      return false;
    case 0xc3:
      return true;
    case 0xca:
      return reader.bytes.readFloatBE(advance(reader, 4));
    case 0xcb:
      return reader.bytes.readDoubleBE(advance(reader, 8));
    case 0xcc:
      return unsigned(reader, 1);
    case 0xcd:
      return unsigned(reader, 2);
    case 0xce:
      return unsigned(reader, 4);
    case 0xcf:
      return Number(reader.bytes.readBigUInt64BE(advance(reader, 8)));
    case 0xd0:
      return reader.bytes.readInt8(advance(reader, 1));
    case 0xd1:
      return reader.bytes.readInt16BE(advance(reader, 2));
    case 0xd2:
      return reader.bytes.readInt32BE(advance(reader, 4));
    case 0xd3:
      return Number(reader.bytes.readBigInt64BE(advance(reader, 8)));
    case 0xd9:
      return readText(reader, unsigned(reader, 1));
    case 0xda:
      return readText(reader, unsigned(reader, 2));
    case 0xdb:
      return readText(reader, unsigned(reader, 4));
    case 0xdc:
      return readArray(reader, unsigned(reader, 2), depth);
    case 0xdd:
      return readArray(reader, unsigned(reader, 4), depth);
    case 0xde:
      return readMap(reader, unsigned(reader, 2), depth);
    case 0xdf:
      return readMap(reader, unsigned(reader, 4), depth);
    default:
      throw new Refused();
  }
}

function advance(reader: Reader, bytes: number): number {
  const at = reader.at;
  reader.at += bytes;
  return at;
}

function unsigned(reader: Reader, bytes: 1 | 2 | 4): number {
  return reader.bytes.readUIntBE(advance(reader, bytes), bytes);
}

function readText(reader: Reader, length: number): string {
  const start = advance(reader, length);
  if (reader.at > reader.bytes.length) throw new Refused();
  return reader.bytes.toString('utf8', start, reader.at);
}

function readArray(reader: Reader, length: number, depth: number): unknown[] {
  const values: unknown[] = [];
  for (let i = 0; i < length; i++) values.push(read(reader, depth + 1));
  return values;
}

function readMap(reader: Reader, length: number, depth: number): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (let i = 0; i < length; i++) {
    const key = read(reader, depth + 1);
    if (typeof key !== 'string') throw new Refused();
    entries.push([key, read(reader, depth + 1)]);
  }
  return Object.fromEntries(entries);
}
