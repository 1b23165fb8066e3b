/**
 * The depth of a pool is the raw quote that sellers receive, without fees, until the price has fallen by 1 %. The square root of the price has then
 * fallen by this share of itself, and so has the quote reserve of a constant product.
 */
export const depthShare = 1 - Math.sqrt(0.99);

/** The depth of a pool whose price is the quotient of its reserves, from raw quote reserves. It is never more than the pool can pay out. Rounded: it only ranks pools. */
export function depthOfReserves(virtualQuote: number, realQuote: number): number {
  return Math.min(virtualQuote * depthShare, realQuote);
}
