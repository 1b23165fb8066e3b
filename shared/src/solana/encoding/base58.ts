const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const alphabetCodes = Uint8Array.from(alphabet, (char) => char.charCodeAt(0));
const oneCode = 49;
const addressBytes = 32;
const addressMaxChars = 44;
const addressMinChars = 32;

/** Limbs of an address: eleven of four digits. 58^4 < 2^24, so eleven products of a limb and a 24-bit word fit in a double's 53 bits. */
const limbBase = 58 ** 4;
const limbCount = 11;
/** Slightly less than 1 / limbBase, so that a quotient is never too large, and at most one too small. */
const limbInverse = (1 / limbBase) * (1 - 2 ** -50);

/** Text is decoded in groups of five digits: 58^5 < 2^30. */
const digitsPerGroup = 5;

/** Longest text that is decoded. Instruction data of a CPI has at most 10 KiB (14,000 characters). */
export const maxBase58Chars = 16_384;

/** Digit by character code; 255 if the character is not a digit. */
const digitOf = new Uint8Array(128).fill(255);
for (let digit = 0; digit < 58; digit++) digitOf[alphabetCodes[digit]!] = digit;

/** Both characters of every two-digit number, low byte first, so that one store writes two characters. */
const pairCodes = new Uint16Array(58 * 58);
for (let pair = 0; pair < pairCodes.length; pair++) {
  pairCodes[pair] = alphabetCodes[Math.floor(pair / 58)]! | (alphabetCodes[pair % 58]! << 8);
}

const quotients = new Int32Array(limbCount + 1);
const rests = new Int32Array(limbCount);
const chars = Buffer.alloc(limbCount * 4);
const charPairs = new Uint16Array(chars.buffer, chars.byteOffset, limbCount * 2);

function settle(limb: number, sum: number): void {
  const quotient = Math.floor(sum * limbInverse);
  quotients[limb + 1] = quotient;
  rests[limb] = sum - quotient * limbBase;
}

/**
 * Converts 32 bytes to limbs, least significant first: multiplies the words by the base-58^4 digits of 2^(24 k), without carries between
 * limbs. It is unrolled because decoding spends most of its time here; a loop takes twice as long.
 */
function splitAddress(b: Uint8Array, o: number): void {
  const w10 = (b[o]! << 8) | b[o + 1]!;
  const w9 = (b[o + 2]! << 16) | (b[o + 3]! << 8) | b[o + 4]!;
  const w8 = (b[o + 5]! << 16) | (b[o + 6]! << 8) | b[o + 7]!;
  const w7 = (b[o + 8]! << 16) | (b[o + 9]! << 8) | b[o + 10]!;
  const w6 = (b[o + 11]! << 16) | (b[o + 12]! << 8) | b[o + 13]!;
  const w5 = (b[o + 14]! << 16) | (b[o + 15]! << 8) | b[o + 16]!;
  const w4 = (b[o + 17]! << 16) | (b[o + 18]! << 8) | b[o + 19]!;
  const w3 = (b[o + 20]! << 16) | (b[o + 21]! << 8) | b[o + 22]!;
  const w2 = (b[o + 23]! << 16) | (b[o + 24]! << 8) | b[o + 25]!;
  const w1 = (b[o + 26]! << 16) | (b[o + 27]! << 8) | b[o + 28]!;
  const w0 = (b[o + 29]! << 16) | (b[o + 30]! << 8) | b[o + 31]!;
  settle(
    0,
    w0 +
      5_460_720 * w1 +
      9_349_072 * w2 +
      1_538_736 * w3 +
      6_321_456 * w4 +
      8_924_368 * w5 +
      3_285_600 * w6 +
      3_048_800 * w7 +
      6_601_232 * w8 +
      3_780_608 * w9 +
      10_950_512 * w10,
  );
  settle(
    1,
    w1 +
      2_239_987 * w2 +
      410_645 * w3 +
      10_697_261 * w4 +
      11_275_907 * w5 +
      1_640_858 * w6 +
      5_233_962 * w7 +
      2_915_615 * w8 +
      7_643_088 * w9 +
      4_133_321 * w10,
  );
  settle(
    2,
    2 * w2 +
      2_925_827 * w3 +
      6_962_111 * w4 +
      1_566_228 * w5 +
      1_883_810 * w6 +
      6_232_438 * w7 +
      3_080_177 * w8 +
      8_869_267 * w9 +
      6_479_751 * w10,
  );
  settle(3, 3 * w3 + 9_403_334 * w4 + 10_317_757 * w5 + 6_422_677 * w6 + 8_325_697 * w7 + 3_769_311 * w8 + 666_373 * w9 + 2_329_873 * w10);
  settle(4, 4 * w4 + 1_834_259 * w5 + 1_062_476 * w6 + 5_180_900 * w7 + 1_577_798 * w8 + 2_604_670 * w9 + 10_222_809 * w10);
  settle(5, 7 * w5 + 6_994_925 * w6 + 1_267_137 * w7 + 5_243_863 * w8 + 8_422_117 * w9 + 9_720_484 * w10);
  settle(6, 10 * w6 + 8_395_012 * w7 + 3_373_116 * w8 + 4_252_007 * w9 + 4_089_352 * w10);
  settle(7, 15 * w7 + 3_824_816 * w8 + 8_651_901 * w9 + 2_537_745 * w10);
  settle(8, 23 * w8 + 6_785_566 * w9 + 10_648_722 * w10);
  settle(9, 34 * w9 + 3_343_956 * w10);
  settle(10, 51 * w10);
}

function encodeAddress(bytes: Uint8Array, offset: number): string {
  splitAddress(bytes, offset);
  let carry = 0;
  for (let limb = 0, at = limbCount * 2 - 2; limb < limbCount; limb++, at -= 2) {
    const sum = rests[limb]! + quotients[limb]! + carry;
    carry = (sum / limbBase) | 0;
    const digits = sum - carry * limbBase;
    const high = (digits / 3364) | 0;
    charPairs[at] = pairCodes[high]!;
    charPairs[at + 1] = pairCodes[digits - high * 3364]!;
  }
  let zeros = 0;
  while (zeros < addressBytes && bytes[offset + zeros] === 0) zeros++;
  let start = 0;
  while (start < chars.length && chars[start] === oneCode) start++;
  return chars.toString('latin1', start - zeros);
}

/** Converts three bytes at a time to limbs of four digits, least significant first. A limb times 2^24 fits in a double's 53 bits. */
function encodeAny(bytes: Uint8Array, offset: number, length: number): string {
  let zeros = 0;
  while (zeros < length && bytes[offset + zeros] === 0) zeros++;
  const limbs = new Int32Array(Math.ceil(((length - zeros) * 1.366) / 4) + 1);
  let used = 0;
  const end = offset + length;
  for (let at = offset + zeros; at < end;) {
    // The first step handles the bytes that do not fill a group of three.
    const step = (end - at) % 3 || 3;
    let carry = 0;
    for (const next = at + step; at < next; at++) carry = carry * 256 + bytes[at]!;
    const scale = 2 ** (8 * step);
    for (let i = 0; i < used || carry > 0; i++) {
      const value = limbs[i]! * scale + carry;
      carry = Math.floor(value * limbInverse);
      let rest = value - carry * limbBase;
      if (rest >= limbBase) {
        carry++;
        rest -= limbBase;
      }
      limbs[i] = rest;
      if (i >= used) used = i + 1;
    }
  }
  return '1'.repeat(zeros) + limbText(limbs, used);
}

/** The digits of limbs, without leading zeros. */
function limbText(limbs: Int32Array, used: number): string {
  const text = Buffer.allocUnsafe(used * 4);
  for (let i = used - 1, at = 0; i >= 0; i--, at += 4) {
    const pair = (limbs[i]! / 3364) | 0;
    const high = pairCodes[pair]!;
    const low = pairCodes[limbs[i]! - pair * 3364]!;
    text[at] = high & 255;
    text[at + 1] = high >> 8;
    text[at + 2] = low & 255;
    text[at + 3] = low >> 8;
  }
  let start = 0;
  while (start < text.length && text[start] === oneCode) start++;
  return text.toString('latin1', start);
}

/** Base58 (Bitcoin alphabet) of `length` bytes from `offset`. 32 bytes, the length of an address, use a fast path. */
export function encodeBase58(bytes: Uint8Array, offset = 0, length = bytes.length - offset): string {
  if (offset < 0 || length < 0 || offset + length > bytes.length) throw new RangeError('The range to encode lies outside the bytes.');
  return length === addressBytes ? encodeAddress(bytes, offset) : encodeAny(bytes, offset, length);
}

/** The bytes of a base58 text; null if a character is not in the alphabet or the text is longer than `maxBase58Chars`. */
export function decodeBase58(text: string): Uint8Array | null {
  const length = text.length;
  if (length > maxBase58Chars) return null;
  let zeros = 0;
  while (zeros < length && text.charCodeAt(zeros) === oneCode) zeros++;
  // 16-bit limbs, least significant first; a character adds 5.858 bits.
  const words = new Float64Array(Math.ceil(((length - zeros) * 5.858) / 16) + 1);
  let used = 0;
  for (let at = zeros; at < length;) {
    let value = 0;
    let scale = 1;
    for (let digits = 0; digits < digitsPerGroup && at < length; digits++, at++) {
      const code = text.charCodeAt(at);
      const digit = code < 128 ? digitOf[code]! : 255;
      if (digit === 255) return null;
      value = value * 58 + digit;
      scale *= 58;
    }
    for (let i = 0; i < used || value > 0; i++) {
      const sum = words[i]! * scale + value;
      value = Math.floor(sum / 65536);
      words[i] = sum - value * 65536;
      if (i >= used) used = i + 1;
    }
  }
  const topIsByte = used > 0 && words[used - 1]! < 256;
  const bytes = new Uint8Array(zeros + used * 2 - (topIsByte ? 1 : 0));
  for (let i = 0, at = bytes.length - 1; i < used; i++) {
    const word = words[i]!;
    bytes[at--] = word & 255;
    if (at >= zeros) bytes[at--] = word >> 8;
  }
  return bytes;
}

/** Whether `decodeBase58` decodes a text. */
export function isBase58Text(text: string): boolean {
  if (text.length > maxBase58Chars) return false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 128 || digitOf[code] === 255) return false;
  }
  return true;
}

/** The largest address, and the smallest one without a leading zero byte. The alphabet is in the order of its codes, so texts compare as numbers do. */
const largestAddress = encodeBase58(new Uint8Array(addressBytes).fill(255));
const smallestFullAddress = encodeBase58(Uint8Array.of(1, ...new Uint8Array(addressBytes - 1)));

/** Whether a text is the base58 form of 32 bytes. */
export function isAddress(text: string): boolean {
  const { length } = text;
  if (length < addressMinChars || length > addressMaxChars) return false;
  if (length < smallestFullAddress.length || text.charCodeAt(0) === oneCode) return decodeBase58(text)?.length === addressBytes;
  if (!isBase58Text(text)) return false;
  return length === addressMaxChars ? text <= largestAddress : text >= smallestFullAddress;
}
