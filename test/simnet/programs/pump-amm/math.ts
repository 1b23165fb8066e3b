import { feeOf, type FeeRates } from '../fee-schedule.ts';

/** Reserves that set the price: the quote side includes the virtual part. */
export interface PoolReserves {
  readonly base: bigint;
  readonly quote: bigint;
}

export interface SwapAmounts {
  readonly base: bigint;
  /** Through the pool, fees apart. */
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

/** Null where nothing is left of the amount after fees. */
export function buyWithQuote(pool: PoolReserves, spendable: bigint, rates: FeeRates): SwapAmounts | null {
  let net = (spendable * basisPoints) / (basisPoints + rates.lp + rates.protocol + rates.creator);
  const total = net + feeOf(net, rates.lp) + feeOf(net, rates.protocol) + feeOf(net, rates.creator);
  if (total > spendable) net -= total - spendable;
  if (net <= 1n) return null;
  return withFees((pool.base * (net - 1n)) / (pool.quote + net - 1n), net, rates);
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
