/** Basis points by which a simulation may differ from the quote, because other trades move the price between the two. */
export const maxDriftBps = 50n;
const basisPoints = 10_000n;

/** What a trade gives. Raw amounts. */
export interface TradedAmounts {
  readonly baseAmount: bigint;
  /** What the trader pays or receives, including all fees of the venue. */
  readonly traderQuote: bigint;
}

/** Whether both amounts differ from the quote by at most `maxDriftBps`. */
export function isAsQuoted(amounts: TradedAmounts, expected: TradedAmounts): boolean {
  return isNear(amounts.baseAmount, expected.baseAmount) && isNear(amounts.traderQuote, expected.traderQuote);
}

function isNear(amount: bigint, quoted: bigint): boolean {
  const difference = amount > quoted ? amount - quoted : quoted - amount;
  // One unit may be a rounding difference.
  return difference <= 1n || difference * basisPoints <= quoted * maxDriftBps;
}
