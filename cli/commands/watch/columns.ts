/** Characters that take two columns of a terminal. */
const wide = /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE4F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u;
const subscripts = '₀₁₂₃₄₅₆₇₈₉';
const significantDigits = 4;

const widthOf = (text: string): number => Array.from(text).reduce((width, character) => width + (wide.test(character) ? 2 : 1), 0);

/** `text` in a column, cut with `…` if it is too long. */
export function column(text: string, width: number): string {
  let cut = text;
  if (widthOf(text) > width) {
    const characters = Array.from(text);
    while (widthOf(characters.join('')) >= width) characters.pop();
    cut = `${characters.join('')}…`;
  }
  return cut + ' '.repeat(Math.max(0, width - widthOf(cut)));
}

/** A number at the right end of a column. A longer one is not cut. */
export function rightColumn(text: string, width: number): string {
  return text.padStart(width);
}

/** A price as people write it: `1.235`, `0.04512`, or `0.0₇2923` for 0.00000002923. */
export function priceText(price: number): string {
  if (!(price > 0) || !Number.isFinite(price)) return String(price);
  if (price >= 1000) return price.toLocaleString('en-US', { maximumFractionDigits: 2 });
  const [digits = '', exponent = '0'] = price.toExponential(significantDigits - 1).split('e');
  const zeros = -Number(exponent) - 1;
  if (zeros < 4) return price.toFixed(Math.max(0, significantDigits - 1 - Number(exponent)));
  const small = Array.from(String(zeros))
    .map((digit) => subscripts[Number(digit)])
    .join('');
  return `0.0${small}${digits.replace('.', '')}`;
}

/** `$950`, `$4.51K`, `$1.20M`. */
export function usdText(usd: number): string {
  if (usd < 1000) return `$${usd.toFixed(0)}`;
  const [size, unit] = usd < 1e6 ? ([1e3, 'K'] as const) : usd < 1e9 ? ([1e6, 'M'] as const) : ([1e9, 'B'] as const);
  return `$${(usd / size).toFixed(2)}${unit}`;
}
