import { feeOf, type FeeRates } from '../fee-schedule.ts';

/** Reserves that set the price: the quote side includes the virtual part. */
export interface PoolReserves {
  readonly base: bigint;
  readonly quote: bigint;
}

export interface SwapAmounts {
  readonly base: bigint;
  /** The amount through the pool, without fees. */
  readonly quote: bigint;
  readonly lpFee: bigint;
  readonly protocolFee: bigint;
  readonly creatorFee: bigint;
}

const basisPoints = 10_000n;

function withFees(base: bigint, quote: bigint, rates: FeeRates): SwapAmounts {
  return { base, quote, lpFee: feeOf(quote, rates.lp), protocolFee: feeOf(quote, rates.protocol), creatorFee: feeOf(quote, rates.creator) };
}

export function buyBase(pool: PoolReserves, base: bigint, rates: FeeRates): SwapAmounts {
  const left = pool.base - base;
  return withFees(base, (pool.quote * base + left - 1n) / left, rates);
}

/** Null if nothing remains of the amount after fees. The fees are computed before the amount is reduced by what they exceed it. */
export function buyWithQuote(pool: PoolReserves, spendable: bigint, rates: FeeRates): SwapAmounts | null {
  const whole = (spendable * basisPoints) / (basisPoints + rates.lp + rates.protocol + rates.creator);
  const fees = withFees(0n, whole, rates);
  const over = whole + fees.lpFee + fees.protocolFee + fees.creatorFee - spendable;
  const quote = over > 0n ? whole - over : whole;
  if (quote <= 1n) return null;
  return { ...fees, quote, base: (pool.base * (quote - 1n)) / (pool.quote + quote - 1n) };
}

export function sellBase(pool: PoolReserves, base: bigint, rates: FeeRates): SwapAmounts {
  return withFees(base, (pool.quote * base) / (pool.base + base), rates);
}

/** Integer square root, rounded down: the liquidity of a new pool. */
export function squareRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let guess = 1n << BigInt((value.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (guess + value / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}
