/** An amount in raw units, or the reason why the number is not a valid amount. */
export type RawAmount = { readonly ok: true; readonly raw: bigint } | { readonly ok: false; readonly fault: string };

const decimalText = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/** A double has 53 bits. A deviation in the last three is a rounding error of the client's arithmetic, and not intended. */
const exactBits = 50n;

/**
 * Converts whole coins to raw units, from the shortest decimal text of the number. Rounding errors of floating-point arithmetic, as in
 * 0.1 + 0.2 = 0.30000000000000004, are removed. Any other decimals beyond those of the coin are a fault.
 */
export function rawAmount(value: number, decimals: number, coin = 'the coin'): RawAmount {
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
    return { ok: false, fault: `has more than the ${decimals} decimals of ${coin}` };
  return { ok: true, raw };
}

/** Raw units of a decimal text; decimals beyond those of the coin are cut off. Null if it is no decimal number, or above `max`. */
export function rawOfText(text: string, decimals: number, max: bigint | null = null): bigint | null {
  const match = writtenText.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const shift = decimals - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  const [multiplier, divisor] = shift >= 0 ? [10n ** BigInt(shift), 1n] : [1n, 10n ** BigInt(-shift)];
  return max !== null && digits * multiplier > max * divisor ? null : (digits * multiplier) / divisor;
}

/** The exponent is bounded, because 10 to its power is computed. The schemas bound the length. */
const writtenText = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

const percentText = /^(\d{1,3})(?:\.(\d{1,4}))?%$/;
const ppmOfAll = 1_000_000n;
const percentDecimals = 4;

/** Parts per million of a text such as "50%". Null if it is not a percentage above 0 and up to 100. */
export function partsPerMillion(text: string): bigint | null {
  const match = percentText.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = ''] = match;
  const ppm = BigInt(whole + fraction.padEnd(percentDecimals, '0'));
  return ppm > 0n && ppm <= ppmOfAll ? ppm : null;
}

/** This part of an amount, rounded down. */
export function partOf(amount: bigint, ppm: bigint): bigint {
  return (amount * ppm) / ppmOfAll;
}
