/** Percent, as the server accepts it. */
const slippage = { min: 0.1, max: 50 };

export type Side = 'buy' | 'sell';

/** The amount for a side: quote coins for a buy; tokens or a percentage for a sell. Null: the text is no such amount. */
export function amountFor(side: Side, text: string): number | string | null {
  const trimmed = text.trim();
  if (side === 'sell' && isPart(trimmed)) return trimmed;
  return isNumber(trimmed) && Number(trimmed) > 0 && Number(trimmed) <= Number.MAX_SAFE_INTEGER ? Number(trimmed) : null;
}

/** A part of what the wallet holds, such as `50%`. */
export const isPart = (text: string): boolean => /^\d{1,3}(\.\d{1,4})?%$/.test(text.trim());
export const isNumber = (text: string): boolean => /^\d+(\.\d+)?$/.test(text.trim());
export const isSlippage = (text: string): boolean => isNumber(text) && Number(text) >= slippage.min && Number(text) <= slippage.max;
