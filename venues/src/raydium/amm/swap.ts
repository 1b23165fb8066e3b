import { dividedUp } from '../../kit/constant-product.ts';

/** The part of what comes in that the pool keeps as its fee. */
export interface SwapFee {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Of each pool that has been seen. The operator can change that of a pool. */
export const standardFee: SwapFee = { numerator: 25n, denominator: 10_000n };

/** The fee on what the trader pays, rounded up. */
export function feeOf(amountIn: bigint, { numerator, denominator }: SwapFee): bigint {
  return dividedUp(amountIn * numerator, denominator);
}

/** What the trader pays for `out`, which is less than `reserveOut`. */
export function amountInFor(out: bigint, reserveIn: bigint, reserveOut: bigint, { numerator, denominator }: SwapFee): bigint {
  const through = dividedUp(reserveIn * out, reserveOut - out);
  return dividedUp(through * denominator, denominator - numerator);
}
