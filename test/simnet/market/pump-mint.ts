import { createHash } from 'node:crypto';
import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isOnCurve } from '@sluice/shared/solana/addresses/curve.ts';

/** The last characters of the addresses of pump's coins. */
const ending = 'pump';
/** The ending is a number modulo this, because each character is a digit to the base 58. */
const modulus = 58n ** BigInt(ending.length);
const remainder = BigInt(`0x${Buffer.from(decodeBase58(ending)!).toString('hex')}`);
/** Addresses are below this, a multiple of the modulus below 2^256. */
const limit = 2n ** 256n - (2n ** 256n % modulus);

/**
 * The address of the mint with this number, base58. It depends only on the seed and the number, is a point of the curve, and ends in `pump`. No
 * private key is known: one that fits such an ending takes millions of tries to find. So the chain must not check the signature of the mint.
 */
export function pumpMint(seed: string, number: number): string {
  const hash = createHash('sha256').update(`${seed}: mint ${number}`).digest('hex');
  for (let start = BigInt(`0x${hash}`) % limit; ; start = (start + modulus) % limit) {
    const value = start - (start % modulus) + remainder;
    const bytes = Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
    if (isOnCurve(bytes)) return encodeBase58(bytes);
  }
}
