/** Largest power of ten that a double holds exactly. */
const maxExactPower = 22;
const powersOfTen: readonly number[] = Array.from({ length: maxExactPower + 1 }, (_, exponent) => 10 ** exponent);
const maxSafe = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Raw integer amount in whole coins: `raw / 10^decimals`, correctly rounded to a double.
 * Below 2^53 one division of two exact doubles does it; beyond, the decimal text is parsed, because rounding twice could be off by one.
 */
export function toUi(raw: bigint, decimals: number): number {
  const power = powersOfTen[decimals];
  if (power !== undefined && raw <= maxSafe && raw >= -maxSafe) return Number(raw) / power;
  return Number(`${raw}e-${decimals}`);
}
