const subscripts = ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉'] as const;
/** From this many zeros after the point, they are counted instead of written. */
const countedZeros = 4;
const none = '–';

/** A price as people write it, with four significant digits or as many as given: `0.0₇2920`, `0.01234`, `1,234.50`. It keeps its digits as it changes. */
export function price(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1) {
    const fraction = Math.max(size >= 10_000 ? 0 : 2, digits - 1 - Math.floor(Math.log10(size)));
    return value.toLocaleString('en-US', { minimumFractionDigits: fraction, maximumFractionDigits: fraction });
  }
  const sign = value < 0 ? '-' : '';
  const [mantissa = '', exponent = ''] = size.toExponential(digits - 1).split('e-');
  // Rounding may have reached 1.
  if (exponent === '' || Number(exponent) === 0) return price(Math.sign(value), digits);
  const zeros = Number(exponent) - 1;
  const rest = mantissa.replace('.', '');
  return zeros < countedZeros ? `${sign}0.${'0'.repeat(zeros)}${rest}` : `${sign}0.0${subscript(zeros)}${rest}`;
}

/** An amount of money in dollars: `$1.25`. Less than a cent is `<$0.01`; prices can be less (`price`). */
export function usd(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  const size = Math.abs(value);
  if (size !== 0 && size < 0.01) return value < 0 ? '>-$0.01' : '<$0.01';
  return value.toLocaleString('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: size >= 10_000 ? 0 : 2 });
}

/** A large amount in short, with three digits or as many as given: `$4.60K`, `$1.20M`. */
export function shortUsd(value: number | null | undefined, digits?: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  return Math.abs(value) < 1_000 ? usd(value) : `${value < 0 ? '-' : ''}$${short(Math.abs(value), digits)}`;
}

/** A number in short, with three digits or as many as given: `4.60K`, `12.3M`; small numbers as amounts. */
export function short(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  const size = Math.abs(value);
  if (size < 1_000) return size >= 1 ? value.toLocaleString('en-US', { maximumFractionDigits: 2 }) : coins(value);
  return value.toLocaleString('en-US', { notation: 'compact', minimumSignificantDigits: digits, maximumSignificantDigits: digits });
}

/** A whole number with separators: `1,234`. */
export function whole(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 slot`, `1,234 slots`; `unknown slots` if the number is unknown. */
export function many(value: number | null, what: string): string {
  return value === null ? `unknown ${what}s` : `${whole(value)} ${what}${value === 1 ? '' : 's'}`;
}

/** An amount of SOL, at most four digits after the point: `0.5 SOL`. */
export function sol(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? none : `${coins(value)} SOL`;
}

/** A number of coins, at most four digits after the point. Less than that has three digits, with all zeros: `0.000005`. */
export function coins(value: number): string {
  const digits = Math.abs(value) < 0.0001 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 4 };
  return value.toLocaleString('en-US', digits);
}

/** A percentage with its sign: `+50 %`, `−45 %`. */
export function signed(percent: number): string {
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toLocaleString('en-US', { maximumFractionDigits: 2 })} %`;
}

function subscript(count: number): string {
  return String(count).replaceAll(/\d/g, (digit) => subscripts[Number(digit)]!);
}
