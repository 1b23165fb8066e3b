/**
 * Basis points by which what a simulation gives may differ from the quote. On the same state both are equal to the last unit; what others
 * trade between the quote and the simulation moves the price.
 */
export const maxDriftBps = 50n;
const basisPoints = 10_000n;

/** What a trade gives. Raw amounts. */
export interface TradedAmounts {
  readonly baseAmount: bigint;
  /** What the trader pays or receives, all fees of the venue inside. */
  readonly traderQuote: bigint;
}

/** Whether both differ by no more than `maxDriftBps` of what was quoted. */
export function isAsQuoted(amounts: TradedAmounts, expected: TradedAmounts): boolean {
  return isNear(amounts.baseAmount, expected.baseAmount) && isNear(amounts.traderQuote, expected.traderQuote);
}

function isNear(amount: bigint, quoted: bigint): boolean {
  const difference = amount > quoted ? amount - quoted : quoted - amount;
  // A single unit of rounding is none.
  return difference <= 1n || difference * basisPoints <= quoted * maxDriftBps;
}
