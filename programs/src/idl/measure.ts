import { viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import type { Shape } from './types.ts';

/** A record does not have the form that its IDL says, or is too large to decode. */
export class RecordFault extends Error {}

/** Values of one record. A text counts once for each 64 of its bytes. */
export const maxValues = 20_000;
const bytesPerValue = 64;

/**
 * Walks over the bytes of a record before anything is decoded: each length is compared with the bytes that are there, so that neither time nor memory
 * follows a number that somebody wrote.
 */
class Walk {
  readonly #view: DataView;
  #left = maxValues;

  constructor(bytes: Uint8Array) {
    this.#view = viewOf(bytes);
  }

  /** The offset behind a value of this shape at `at`. Throws a `RecordFault`. */
  end(shape: Shape, at: number): number {
    const { kind, size, values, parts } = shape;
    if (size !== null) return this.#skip(at, size, values);
    switch (kind) {
      case 'bytes': {
        const length = this.#length(at);
        return this.#skip(at + 4, length, 1 + Math.floor(length / bytesPerValue));
      }
      case 'option': {
        this.#need(at, 1);
        return this.#view.getUint8(at) === 0 ? this.#skip(at, 1, 1) : this.end(parts[0]!, this.#skip(at, 1, 0));
      }
      case 'list':
        return this.#elements(parts[0]!, this.#length(at), at + 4);
      case 'array':
        return this.#elements(parts[0]!, shape.count, at);
      case 'enum': {
        this.#need(at, 1);
        const variant = parts[this.#view.getUint8(at)];
        if (variant === undefined) throw new RecordFault(`there is no variant ${this.#view.getUint8(at)}`);
        return this.end(variant, this.#skip(at, 1, 1));
      }
      default: {
        let next = at;
        for (const part of parts) next = this.end(part, next);
        return next;
      }
    }
  }

  #elements(of: Shape, count: number, at: number): number {
    if (of.size !== null) return this.#skip(at, count * of.size, 1 + count * of.values);
    let next = this.#skip(at, 0, 1);
    for (let index = 0; index < count; index++) next = this.end(of, next);
    return next;
  }

  #length(at: number): number {
    this.#need(at, 4);
    return this.#view.getUint32(at, true);
  }

  #skip(at: number, bytes: number, values: number): number {
    this.#need(at, bytes);
    this.#left -= values;
    if (this.#left < 0) throw new RecordFault(`it has more than ${maxValues} values`);
    return at + bytes;
  }

  #need(at: number, bytes: number): void {
    if (at + bytes > this.#view.byteLength) {
      throw new RecordFault(`it has ${this.#view.byteLength} bytes, and a value needs them up to ${at + bytes}`);
    }
  }
}

/**
 * How many fields of a struct the bytes have. Records grow at their end, so an older one lacks the last fields: it ends where one begins. More bytes
 * than the fields need are accepted. Throws a `RecordFault` if the bytes end inside a field, or before the first.
 */
export function fieldsIn({ kind, parts, size, values }: Shape, bytes: Uint8Array): number {
  const walk = new Walk(bytes);
  if (kind !== 'struct') {
    walk.end({ kind, parts, size, values, zeroBytes: 0, count: 0, nodes: 1, depth: 1 }, 0);
    return 0;
  }
  let at = 0;
  for (const [index, part] of parts.entries()) {
    if (index > 0 && at === bytes.length && part.size !== 0) return index;
    at = walk.end(part, at);
  }
  return parts.length;
}
