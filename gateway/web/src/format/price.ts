const subscripts = ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉'] as const;
/** From this many zeros after the point, they are counted instead of written. */
const countedZeros = 4;
const none = '–';

/** A price as people write it, with four significant digits or as many as given: `0.0₇2923`, `0.01234`, `1,234.5`. */
export function price(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 10_000) return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
  if (size >= 1) return value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: size >= 100 ? 2 : 4 });
  const sign = value < 0 ? '-' : '';
  const [mantissa = '', exponent = ''] = size.toExponential(digits - 1).split('e-');
  // Rounding may have reached 1.
  if (exponent === '' || Number(exponent) === 0) return `${sign}1`;
  const zeros = Number(exponent) - 1;
  const rest = mantissa.replace('.', '').replace(/0+$/, '');
  return zeros < countedZeros ? `${sign}0.${'0'.repeat(zeros)}${rest}` : `${sign}0.0${subscript(zeros)}${rest}`;
}

/** An amount of money in dollars: `$1.25`. Less than a cent is `<$0.01`; prices can be less (`price`). */
export function usd(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  const size = Math.abs(value);
  if (size !== 0 && size < 0.01) return value < 0 ? '>-$0.01' : '<$0.01';
  return value.toLocaleString('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: size >= 10_000 ? 0 : 2 });
}

/** A large amount in short: `$4.47K`, `$1.2M`. */
export function shortUsd(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  return Math.abs(value) < 1_000 ? usd(value) : `${value < 0 ? '-' : ''}$${short(Math.abs(value))}`;
}

/** A number in short: `4.47K`, `12.3M`; small numbers as prices. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  const size = Math.abs(value);
  if (size < 1_000) return size >= 1 ? value.toLocaleString('en-US', { maximumFractionDigits: 2 }) : price(value);
  return value.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 3 });
}

/** A whole number with separators: `1,234`. */
export function whole(value: number): string {
  return value.toLocaleString('en-US');
}

/** An amount of SOL, at most four digits after the point: `0.5 SOL`. */
export function sol(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? none : `${coins(value)} SOL`;
}

/** A number of coins, at most four digits after the point. */
export function coins(value: number): string {
  return Math.abs(value) < 0.0001 && value !== 0 ? price(value) : value.toLocaleString('en-US', { maximumFractionDigits: 4 });
}

function subscript(count: number): string {
  return String(count).replaceAll(/\d/g, (digit) => subscripts[Number(digit)]!);
}
