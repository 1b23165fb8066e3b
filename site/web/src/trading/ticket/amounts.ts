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
const isNumber = (text: string): boolean => /^\d+(\.\d+)?$/.test(text.trim());
export const isSlippage = (text: string): boolean => isNumber(text) && Number(text) >= slippage.min && Number(text) <= slippage.max;

/** What an order is asked for with, in the units of a request. */
export interface OrderTerms {
  readonly amount: number | string;
  readonly slippage: number;
  readonly priorityFee?: number;
}

/** The terms of an order, or what is wrong with a field. `quote`: the coin that a buy spends. */
export function readTerms(
  side: Side,
  fields: { readonly amount: string; readonly slippage: string; readonly priorityFee: string },
  quote: string,
): OrderTerms | string {
  const amount = amountFor(side, fields.amount);
  const fee = fields.priorityFee.trim();
  if (amount === null) return side === 'buy' ? `Amount: ${quote} to spend, for example 0.1.` : 'Amount: tokens, or a part such as 50%.';
  if (!isSlippage(fields.slippage)) return 'Slippage: a percentage from 0.1 to 50, for example 10.';
  if (fee !== '' && !isNumber(fee)) return 'Priority fee: SOL, for example 0.0001.';
  return { amount, slippage: Number(fields.slippage), ...(fee !== '' && { priorityFee: Number(fee) }) };
}
