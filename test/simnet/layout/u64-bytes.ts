const wordValues = 2 ** 32;

function readWord(data: Uint8Array, at: number): number {
  return (data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | (data[at + 3]! << 24)) >>> 0;
}

function writeWord(data: Uint8Array, value: number, at: number): void {
  data[at] = value;
  data[at + 1] = value >>> 8;
  data[at + 2] = value >>> 16;
  data[at + 3] = value >>> 24;
}

/** The u64 at `at`, little endian. It uses no DataView, because creating one costs more than reading. Throws RangeError past the end. */
export function readU64(data: Uint8Array, at: number): bigint {
  if (at + 8 > data.length) throw new RangeError('the bytes end within a u64');
  const high = readWord(data, at + 4);
  const low = readWord(data, at);
  return high < 2 ** 21 ? BigInt(high * wordValues + low) : (BigInt(high) << 32n) | BigInt(low);
}

/** Throws RangeError past the end, and for a value that is not a u64. */
export function writeU64(data: Uint8Array, value: bigint, at: number): void {
  if (at + 8 > data.length) throw new RangeError('the bytes end within a u64');
  if (value < 0n || value > 0xffff_ffff_ffff_ffffn) throw new RangeError('the value is not a u64');
  const small = value <= 9_007_199_254_740_991n;
  const exact = small ? Number(value) : 0;
  writeWord(data, small ? exact % wordValues : Number(value & 0xffff_ffffn), at);
  writeWord(data, small ? Math.floor(exact / wordValues) : Number(value >> 32n), at + 4);
}
