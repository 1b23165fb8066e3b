/** What a number of whole coins is in raw units; a fault says why it is none. */
export type RawAmount = { readonly ok: true; readonly raw: bigint } | { readonly ok: false; readonly fault: string };

const decimalText = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/** A double has 53 bits: what is beyond the last three is what reckoning leaves in it, and nobody's wish. */
const exactBits = 50n;

/**
 * By the number's decimal text, the shortest that reads back as the same number. What a client's floating point has left in it, as in
 * 0.1 + 0.2 = 0.30000000000000004, is rounded off; any other decimals beyond the coin's are a fault.
 */
export function rawAmount(value: number, decimals: number): RawAmount {
  const match = decimalText.exec(String(value));
  if (match === null) return { ok: false, fault: 'must be a positive number' };
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const shift = decimals - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  if (shift >= 0) return { ok: true, raw: digits * 10n ** BigInt(shift) };
  const divisor = 10n ** BigInt(-shift);
  const raw = (2n * digits + divisor) / (2n * divisor);
  const excess = digits - raw * divisor;
  if ((excess < 0n ? -excess : excess) << exactBits > digits)
    return { ok: false, fault: `has more than the ${decimals} decimals of the coin` };
  return { ok: true, raw };
}

/** The same of a decimal text, as a number's may be written; decimals beyond are cut off. Null where it is none. */
export function rawOfText(text: string, decimals: number): bigint | null {
  const match = writtenText.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const shift = decimals - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
}

/** Exponents are bounded: 10 to the power of one is reckoned out. */
const writtenText = /^(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,2}))?$/;

const percentText = /^(\d{1,3})(?:\.(\d{1,4}))?%$/;
const ppmOfAll = 1_000_000n;
const percentDecimals = 4;

/** Parts in a million of "50%"; null where the text is no percentage above 0 and up to 100. */
export function partsPerMillion(text: string): bigint | null {
  const match = percentText.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = ''] = match;
  const ppm = BigInt(whole + fraction.padEnd(percentDecimals, '0'));
  return ppm > 0n && ppm <= ppmOfAll ? ppm : null;
}

/** Rounded down: never more than there is. */
export function partOf(amount: bigint, ppm: bigint): bigint {
  return (amount * ppm) / ppmOfAll;
}
