import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { addressBytes } from './derive.ts';
import { readU64, writeU64 } from './u64-bytes.ts';

const initialBytes = 512;

/** Writes Borsh (little endian); grows as needed. */
export class BorshWriter {
  // From Node's pool, not zeroed: only written bytes are returned.
  #buffer = Buffer.allocUnsafe(initialBytes);
  #length = 0;

  bytes(value: Uint8Array): this {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
    return this;
  }

  bool(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }

  u16(value: number): this {
    return this.u8(value & 255).u8(value >> 8);
  }

  u32(value: number): this {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32LE(value, this.#length);
    return this;
  }

  i32(value: number): this {
    this.#reserve(4);
    this.#length = this.#buffer.writeInt32LE(value, this.#length);
    return this;
  }

  u64(value: bigint): this {
    this.#reserve(8);
    writeU64(this.#buffer, value, this.#length);
    this.#length += 8;
    return this;
  }

  i64(value: bigint): this {
    this.#reserve(8);
    this.#length = this.#buffer.writeBigInt64LE(value, this.#length);
    return this;
  }

  u128(value: bigint): this {
    return this.u64(value & 0xffff_ffff_ffff_ffffn).u64(value >> 64n);
  }

  i128(value: bigint): this {
    return this.u64(BigInt.asUintN(64, value)).i64(value >> 64n);
  }

  address(value: string): this {
    return this.bytes(addressBytes(value));
  }

  string(value: string): this {
    const text = Buffer.from(value);
    return this.u32(text.length).bytes(text);
  }

  zeros(count: number): this {
    return this.bytes(new Uint8Array(count));
  }

  /** The bytes written so far. With `length`, padded with zeros to that length. */
  done(length = this.#length): Uint8Array {
    const out = new Uint8Array(length);
    out.set(this.#buffer.subarray(0, this.#length));
    return out;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + count));
    grown.set(this.#buffer);
    this.#buffer = grown;
  }
}

/** Thrown if the bytes end too early; programs turn it into their own error. */
export class BorshEnd extends Error {}

/** Reads Borsh forward. Past the end it throws `BorshEnd`; `or…` readers return a default instead. */
export class BorshReader {
  readonly #data: Buffer;
  #at: number;

  constructor(data: Uint8Array, offset = 0) {
    this.#data = Buffer.from(data.buffer, data.byteOffset, data.length);
    this.#at = offset;
  }

  get remaining(): number {
    return this.#data.length - this.#at;
  }

  u8(): number {
    return this.#data[this.#take(1)] ?? 0;
  }

  bool(): boolean {
    return this.u8() !== 0;
  }

  u16(): number {
    return this.#data.readUInt16LE(this.#take(2));
  }

  u32(): number {
    return this.#data.readUInt32LE(this.#take(4));
  }

  i32(): number {
    return this.#data.readInt32LE(this.#take(4));
  }

  u64(): bigint {
    return readU64(this.#data, this.#take(8));
  }

  i64(): bigint {
    return this.#data.readBigInt64LE(this.#take(8));
  }

  u128(): bigint {
    return this.u64() | (this.u64() << 64n);
  }

  i128(): bigint {
    return this.u64() | (this.i64() << 64n);
  }

  address(): string {
    return encodeBase58(this.#data, this.#take(32), 32);
  }

  addresses(count: number): string[] {
    return Array.from({ length: count }, () => this.address());
  }

  string(): string {
    const length = this.u32();
    const at = this.#take(length);
    return this.#data.toString('utf8', at, at + length);
  }

  bytes(count: number): Uint8Array {
    const at = this.#take(count);
    return this.#data.subarray(at, at + count);
  }

  /** Trailing values that older writers omit. */
  orFalse(): boolean {
    return this.remaining >= 1 ? this.bool() : false;
  }

  orZero(): bigint {
    return this.remaining >= 8 ? this.u64() : 0n;
  }

  #take(count: number): number {
    const at = this.#at;
    if (at + count > this.#data.length) throw new BorshEnd('the bytes end too early');
    this.#at = at + count;
    return at;
  }
}
