/** Largest power of ten that a double represents exactly. */
const maxExactPower = 22;
const powersOfTen: readonly number[] = Array.from({ length: maxExactPower + 1 }, (_, exponent) => 10 ** exponent);
const maxSafe = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * A raw integer amount in whole coins: `raw / 10^decimals`, correctly rounded to a double. Below 2^53, dividing two exact doubles is
 * enough. Above it, the decimal text is parsed, because rounding twice could be off by one.
 */
export function toUi(raw: bigint, decimals: number): number {
  const power = powersOfTen[decimals];
  if (power !== undefined && raw <= maxSafe && raw >= -maxSafe) return Number(raw) / power;
  return Number(`${raw}e-${decimals}`);
}

/** A raw amount in whole coins, exact, as people write it: `0.01`. */
export function decimalText(raw: bigint, decimals: number): string {
  if (decimals === 0) return String(raw);
  const digits = String(raw).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '');
}

/** Bits of the quotient beyond those of a double, so that it is rounded only once. */
const quotientBits = 66;

/** `numerator / denominator`, both above 0, correctly rounded to a double. Not for quotients below 2^-900. */
export function quotient(numerator: bigint, denominator: bigint): number {
  const shift = BigInt(Math.max(0, quotientBits + 4 * (denominator.toString(16).length - numerator.toString(16).length)));
  const shifted = numerator << shift;
  const whole = shifted / denominator;
  // The remainder only decides a tie.
  const exact = whole * denominator === shifted ? whole : whole | 1n;
  return Number(exact) / 2 ** Number(shift);
}
