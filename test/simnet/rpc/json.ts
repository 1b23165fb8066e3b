/**
 * JSON with exact u64. A node writes u64 as JSON numbers, even above 2^53 (`rentEpoch`, balances of rich accounts); `JSON.stringify` cannot
 * do that. `u64` marks such a number, and `toJson` writes it with all its digits.
 */
const mark = '\u0000u64:';
const marked = /"\\u0000u64:(\d+)"/g;

class ExactU64 {
  readonly digits: string;

  constructor(value: bigint) {
    this.digits = value.toString();
  }

  toJSON(): string {
    return mark + this.digits;
  }
}

/** A u64 for `toJson`: a plain number if that is exact, otherwise a mark that has every digit. */
export function u64(value: bigint): unknown {
  return value <= 9_007_199_254_740_991n ? Number(value) : new ExactU64(value);
}

export function toJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u0000u64:') ? text.replace(marked, '$1') : text;
}
