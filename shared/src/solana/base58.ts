const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const alphabetCodes = Uint8Array.from(alphabet, (char) => char.charCodeAt(0));
const oneCode = 49;
const addressBytes = 32;
const addressMaxChars = 44;
const addressMinChars = 32;

/** Five base58 digits a limb: 58^5 < 2^30, so a 16-bit limb times it, sixteen times, still fits a double's 53 bits. */
const digitsPerLimb = 5;
const limbBase = 58 ** digitsPerLimb;

/** Longest text that is decoded; beyond it `decodeBase58` answers null. Instruction data of a CPI has at most 10 KiB (14,000 characters). */
export const maxBase58Chars = 16_384;

/** Digit by character code, 255 for none. */
const digitOf = new Uint8Array(128).fill(255);
for (let digit = 0; digit < 58; digit++) digitOf[alphabetCodes[digit]!] = digit;

/** Both characters of every two-digit number, low byte first, so that two characters are one store. */
const pairCodes = new Uint16Array(58 * 58);
for (let pair = 0; pair < pairCodes.length; pair++) {
  pairCodes[pair] = alphabetCodes[Math.floor(pair / 58)]! | (alphabetCodes[pair % 58]! << 8);
}

const words = 16;
const limbCount = 9;

/** The base-58^5 digits of 2^(16 i), least significant first: `weights[limb * words + i]`. */
const weights = new Float64Array(limbCount * words);
for (let word = 0; word < words; word++) {
  let power = 1n << BigInt(16 * word);
  for (let limb = 0; limb < limbCount; limb++) {
    weights[limb * words + word] = Number(power % BigInt(limbBase));
    power /= BigInt(limbBase);
  }
}
/** First word that has a digit in a limb: below it the row is zero. */
const firstWord = Uint8Array.from({ length: limbCount }, (_, limb) => Math.ceil((limb * Math.log2(limbBase)) / 16));

const wordsOf = new Float64Array(words);
const limbs = new Float64Array(limbCount);
const chars = Buffer.alloc(limbCount * digitsPerLimb);

/** 32 bytes as nine base-58^5 limbs, most significant first: a matrix of 75 numbers times sixteen words, then the carries. */
function splitAddress(bytes: Uint8Array, offset: number): void {
  for (let word = 0, at = offset + addressBytes - 2; word < words; word++, at -= 2) wordsOf[word] = (bytes[at]! << 8) | bytes[at + 1]!;
  let carry = 0;
  for (let limb = 0; limb < limbCount; limb++) {
    let sum = carry;
    for (let word = firstWord[limb]!, at = limb * words + word; word < words; word++, at++) sum += weights[at]! * wordsOf[word]!;
    carry = Math.floor(sum / limbBase);
    limbs[limbCount - 1 - limb] = sum - carry * limbBase;
  }
}

function encodeAddress(bytes: Uint8Array, offset: number): string {
  splitAddress(bytes, offset);
  for (let i = 0, at = 0; i < 9; i++, at += digitsPerLimb) {
    const limb = limbs[i]! | 0;
    const high = (limb / 195112) | 0;
    const low = limb - high * 195112;
    const middle = (low / 3364) | 0;
    const last = low - middle * 3364;
    const pair = pairCodes[high]!;
    chars[at] = pair & 255;
    chars[at + 1] = pair >> 8;
    chars[at + 2] = alphabetCodes[middle]!;
    const end = pairCodes[last]!;
    chars[at + 3] = end & 255;
    chars[at + 4] = end >> 8;
  }
  let zeros = 0;
  while (zeros < addressBytes && bytes[offset + zeros] === 0) zeros++;
  let start = 0;
  while (start < 45 && chars[start] === oneCode) start++;
  return chars.toString('latin1', start - zeros, 45);
}

function encodeAny(bytes: Uint8Array, offset: number, length: number): string {
  let zeros = 0;
  while (zeros < length && bytes[offset + zeros] === 0) zeros++;
  const groups = new Float64Array(Math.ceil(((length - zeros) * 1.366) / digitsPerLimb) + 1);
  let used = 0;
  for (let at = zeros; at < length; at++) {
    let carry = bytes[offset + at]!;
    for (let i = 0; i < used || carry > 0; i++) {
      const value = groups[i]! * 256 + carry;
      carry = Math.floor(value / limbBase);
      groups[i] = value - carry * limbBase;
      if (i >= used) used = i + 1;
    }
  }
  let text = '';
  for (let i = used - 1; i >= 0; i--) {
    let rest = groups[i]!;
    let group = '';
    for (let digit = 0; digit < digitsPerLimb; digit++) {
      group = alphabet[rest % 58]! + group;
      rest = Math.floor(rest / 58);
    }
    text += group;
  }
  let start = 0;
  while (text.charCodeAt(start) === oneCode) start++;
  return '1'.repeat(zeros) + text.slice(start);
}

/** Base58 (Bitcoin alphabet) of `length` bytes from `offset`. 32 bytes, an address, take a fast path. */
export function encodeBase58(bytes: Uint8Array, offset = 0, length = bytes.length - offset): string {
  if (offset < 0 || length < 0 || offset + length > bytes.length) throw new RangeError('The range to encode lies outside the bytes.');
  return length === addressBytes ? encodeAddress(bytes, offset) : encodeAny(bytes, offset, length);
}

/** The bytes of a base58 text; null where a character is not of the alphabet or the text is longer than `maxBase58Chars`. */
export function decodeBase58(text: string): Uint8Array | null {
  const length = text.length;
  if (length > maxBase58Chars) return null;
  let zeros = 0;
  while (zeros < length && text.charCodeAt(zeros) === oneCode) zeros++;
  // 16-bit limbs, least significant first; a character carries 5.858 bits.
  const limbWords = new Float64Array(Math.ceil(((length - zeros) * 5.858) / 16) + 1);
  let used = 0;
  for (let at = zeros; at < length;) {
    let value = 0;
    let scale = 1;
    for (let digits = 0; digits < digitsPerLimb && at < length; digits++, at++) {
      const code = text.charCodeAt(at);
      const digit = code < 128 ? digitOf[code]! : 255;
      if (digit === 255) return null;
      value = value * 58 + digit;
      scale *= 58;
    }
    for (let i = 0; i < used || value > 0; i++) {
      const sum = limbWords[i]! * scale + value;
      value = Math.floor(sum / 65536);
      limbWords[i] = sum - value * 65536;
      if (i >= used) used = i + 1;
    }
  }
  const topIsByte = used > 0 && limbWords[used - 1]! < 256;
  const bytes = new Uint8Array(zeros + used * 2 - (topIsByte ? 1 : 0));
  for (let i = 0, at = bytes.length - 1; i < used; i++) {
    const word = limbWords[i]!;
    bytes[at--] = word & 255;
    if (at >= zeros) bytes[at--] = word >> 8;
  }
  return bytes;
}

/** Whether a text is the base58 form of 32 bytes. */
export function isAddress(text: string): boolean {
  if (text.length < addressMinChars || text.length > addressMaxChars) return false;
  return decodeBase58(text)?.length === addressBytes;
}
