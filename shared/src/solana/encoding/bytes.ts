import { encodeBase58 } from './base58.ts';
import { wrappedSolMint, zeroAddress } from '../well-known.ts';

const twoTo32 = 4_294_967_296;
const keyBytes = 32;
/** A time at or after this (the year 2242), in seconds, is not a valid clock value. */
const maxTimestamp = 2 ** 33;

/** Without copying first, as `Buffer.from` would. */
export const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

export const u128At = (view: DataView, at: number): bigint => view.getBigUint64(at, true) | (view.getBigUint64(at + 8, true) << 64n);

export const i128At = (view: DataView, at: number): bigint => view.getBigUint64(at, true) | (view.getBigInt64(at + 8, true) << 64n);

/** Reads a Borsh record from front to back. A read past the end returns zero and sets `failed`, so decoders check once, at the end. */
export class BorshReader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at: number;
  failed = false;

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.at = at;
  }

  /** Whether a field follows. Layouts grow at the end: a record that ends before the field has an older layout; inside the field, it is malformed. */
  has(length: number): boolean {
    const left = this.bytes.length - this.at;
    if (left >= length) return true;
    if (left !== 0) this.failed = true;
    return false;
  }

  /** Skips `length` bytes and returns the offset at which they begin, or fails. */
  protected take(length: number): number {
    const from = this.at;
    if (this.failed || length > this.bytes.length - from) {
      this.failed = true;
      return -1;
    }
    this.at = from + length;
    return from;
  }

  skip(length: number): void {
    this.take(length);
  }

  u8(): number {
    const from = this.take(1);
    return from < 0 ? 0 : this.bytes[from]!;
  }

  /** A Borsh bool is 0 or 1; anything else fails. */
  bool(): boolean {
    const byte = this.u8();
    if (byte > 1) this.failed = true;
    return byte === 1;
  }

  u16(): number {
    const from = this.take(2);
    return from < 0 ? 0 : this.view.getUint16(from, true);
  }

  u32(): number {
    const from = this.take(4);
    return from < 0 ? 0 : this.view.getUint32(from, true);
  }

  i32(): number {
    return this.u32() | 0;
  }

  u64(): bigint {
    const from = this.take(8);
    return from < 0 ? 0n : this.view.getBigUint64(from, true);
  }

  /** A u64 that fits in a double in practice (basis points). */
  u64Number(): number {
    const from = this.take(8);
    return from < 0 ? 0 : this.view.getUint32(from, true) + this.view.getUint32(from + 4, true) * twoTo32;
  }

  u128(): bigint {
    const from = this.take(16);
    return from < 0 ? 0n : u128At(this.view, from);
  }

  i128(): bigint {
    const from = this.take(16);
    return from < 0 ? 0n : i128At(this.view, from);
  }

  /** Unix seconds from an i64. */
  timestamp(): number {
    const from = this.take(8);
    if (from < 0) return 0;
    const seconds = this.view.getUint32(from, true) + this.view.getInt32(from + 4, true) * twoTo32;
    if (seconds < 0 || seconds >= maxTimestamp) this.failed = true;
    return seconds;
  }

  address(): string {
    const from = this.take(keyBytes);
    return from < 0 ? zeroAddress : encodeBase58(this.bytes, from, keyBytes);
  }

  /** A quote mint; programs write the zero key for SOL. */
  quoteMint(): string {
    const from = this.take(keyBytes);
    return from < 0 || isZeroKey(this.bytes, from) ? wrappedSolMint : encodeBase58(this.bytes, from, keyBytes);
  }

  /** UTF-8 text. Invalid sequences become replacement characters, because creators of tokens may write any bytes. */
  text(): string {
    const length = this.u32();
    const from = this.take(length);
    return from < 0 ? '' : Buffer.from(this.bytes.buffer, this.bytes.byteOffset + from, length).toString('utf8');
  }

  skipText(): void {
    this.take(this.u32());
  }

  skipList(itemBytes: number): void {
    this.take(this.u32() * itemBytes);
  }
}

export function isZeroKey(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < keyBytes; i++) if (bytes[at + i] !== 0) return false;
  return true;
}

export function hasPrefix(data: Uint8Array, prefix: Uint8Array): boolean {
  if (data.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (data[i] !== prefix[i]) return false;
  return true;
}

export const discriminatorLength = 8;

/** The discriminator in hex, for counters and for look-ups outside the hot path. Shorter if there are fewer bytes. */
export function discriminatorHex(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, discriminatorLength)).toString('hex');
}
