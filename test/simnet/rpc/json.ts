/**
 * JSON with exact u64: a node writes u64 as JSON numbers, also beyond 2^53 (`rentEpoch`, balances of rich accounts), which
 * `JSON.stringify` cannot. `u64` marks such a number and `toJson` writes it with all its digits.
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

/** A u64 for `toJson`: a plain number where it is exact, otherwise a mark that keeps every digit. */
export function u64(value: bigint): unknown {
  return value <= 9_007_199_254_740_991n ? Number(value) : new ExactU64(value);
}

export function toJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u0000u64:') ? text.replace(marked, '$1') : text;
}
