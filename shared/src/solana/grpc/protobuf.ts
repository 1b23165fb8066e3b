import { encodeBase58 } from '../encoding/base58.ts';

/** `optional`: a number that may be missing. `key`: an address, read as base58. `indexes`: bytes, read as numbers. A table: a nested message. */
type FieldType = 'number' | 'optional' | 'flag' | 'text' | 'bytes' | 'key' | 'indexes' | Fields;

/** The fields of a message that are read, by their numbers. Others are skipped. A repeated field is a list. */
export interface Fields {
  readonly [field: number]: readonly [name: string, type: FieldType, repeated?: 'repeated'];
}

export type Message = Readonly<Record<string, unknown>>;

class ProtobufFault extends Error {}

const varintWire = 0;
const bytesWire = 2;
/** Bytes of fields with a fixed length, by their type on the wire. */
const fixedBytes: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
/** A number of 64 bits has ten bytes. */
const maxVarintBytes = 10;
/** Elements of a list. A transaction has at most some hundred of a kind. */
const maxElements = 4_096;
const keyBytes = 32;
const empty = Buffer.alloc(0);
/** The fields of each table as a list. */
const lists = new Map<Fields, readonly Fields[number][]>();

/**
 * Reads a protobuf message. Missing numbers are 0, missing bytes, indexes and lists are empty; other missing fields are undefined. Numbers above 2^53 are
 * not exact. The depth is that of the table. Returns `malformed` for bytes that are no such message; never throws.
 */
export function readMessage(fields: Fields, bytes: Buffer): Message | 'malformed' {
  return attempt(() => new Reader(bytes).message(fields, bytes.length));
}

/** The first bytes of a message, up to the end of the last field that `readMessage` reads. */
export function readBytes(fields: Fields, bytes: Buffer): Buffer | 'malformed' {
  return attempt(() => bytes.subarray(0, new Reader(bytes).lastEnd(fields, bytes.length)));
}

function attempt<T>(read: () => T): T | 'malformed' {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProtobufFault) return 'malformed';
    throw error;
  }
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  message(fields: Fields, end: number): Message {
    const found: Record<string, unknown> = {};
    let all = lists.get(fields);
    if (all === undefined) lists.set(fields, (all = Object.values(fields)));
    for (const [name, type, repeated] of all) {
      if (repeated !== undefined || type === 'indexes') found[name] = [];
      else if (type === 'number') found[name] = 0;
      else if (type === 'bytes') found[name] = empty;
    }
    while (this.#at < end) {
      const tag = this.#varint(end);
      const wire = tag % 8;
      const known = fields[Math.floor(tag / 8)];
      if (known === undefined) {
        this.#skip(wire, end);
        continue;
      }
      const [name, type, repeated] = known;
      const value = this.#value(type, wire, end);
      if (repeated === undefined) found[name] = value;
      else if ((found[name] as unknown[]).push(value) > maxElements) throw new ProtobufFault();
    }
    return found;
  }

  lastEnd(fields: Fields, end: number): number {
    let last = 0;
    while (this.#at < end) {
      const tag = this.#varint(end);
      this.#skip(tag % 8, end);
      if (fields[Math.floor(tag / 8)] !== undefined) last = this.#at;
    }
    return last;
  }

  #value(type: FieldType, wire: number, end: number): unknown {
    const isNumber = type === 'number' || type === 'optional' || type === 'flag';
    if (wire !== (isNumber ? varintWire : bytesWire)) throw new ProtobufFault();
    if (isNumber) return type === 'flag' ? this.#varint(end) !== 0 : this.#varint(end);
    const to = this.#varint(end) + this.#at;
    if (to > end) throw new ProtobufFault();
    if (typeof type === 'object') return this.message(type, to);
    const from = this.#at;
    this.#at = to;
    // Slices cost more than what is read from them.
    if (type === 'text') return this.#bytes.toString('utf8', from, to);
    if (type === 'bytes') return this.#bytes.subarray(from, to);
    if (type === 'indexes') return indexesIn(this.#bytes, from, to);
    if (to - from !== keyBytes) throw new ProtobufFault();
    return encodeBase58(this.#bytes, from, keyBytes);
  }

  #skip(wire: number, end: number): void {
    if (wire === varintWire) this.#varint(end);
    else {
      const length = wire === bytesWire ? this.#varint(end) : fixedBytes[wire];
      if (length === undefined || length > end - this.#at) throw new ProtobufFault();
      this.#at += length;
    }
  }

  #varint(end: number): number {
    let value = 0;
    let place = 1;
    for (let count = 0; count < maxVarintBytes && this.#at < end; count++) {
      const byte = this.#bytes[this.#at++]!;
      value += (byte & 0x7f) * place;
      if (byte < 0x80) return value;
      place *= 128;
    }
    throw new ProtobufFault();
  }
}

function indexesIn(bytes: Buffer, from: number, to: number): number[] {
  const indexes: number[] = [];
  for (let at = from; at < to; at++) indexes.push(bytes[at]!);
  return indexes;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

export function numberField(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8 + varintWire), varint(value)]);
}

/** A text, bytes, or a message of fields. */
export function bytesField(field: number, ...value: readonly (string | Uint8Array)[]): Buffer {
  const bytes = Buffer.concat(value.map((part) => Buffer.from(part as Uint8Array)));
  return Buffer.concat([varint(field * 8 + bytesWire), varint(bytes.length), bytes]);
}
