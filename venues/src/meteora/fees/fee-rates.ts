/** Fees of Meteora's programs. Rates are numerators of billionths, and every fee is rounded up. */
export const feeDenominator = 1_000_000_000n;
const basisPoints = 10_000n;

export function dividedUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** The fee of an amount that contains it. */
export function feeOf(amount: bigint, rate: bigint): bigint {
  return dividedUp(amount * rate, feeDenominator);
}

/** The amount with its fee, from the amount that is left after it. The rate is below 1. */
export function withFee(net: bigint, rate: bigint): bigint {
  return dividedUp(net * feeDenominator, feeDenominator - rate);
}

/** Basis points as a rate. */
export function rateOfBps(bps: bigint): bigint {
  return (bps * feeDenominator) / basisPoints;
}

/** A base fee that falls with time, in equal steps or by equal parts. */
export interface FeeSchedule {
  readonly kind: 'linear' | 'exponential';
  /** The rate at the beginning. */
  readonly cliff: bigint;
  readonly periods: bigint;
  /** Slots or seconds of one period; 0 if the fee never falls. */
  readonly frequency: bigint;
  /** What a period takes off: a rate, or basis points of the rate. */
  readonly reduction: bigint;
}

const scaleBits = 64n;
const one = 1n << scaleBits;

/** A number below 1 to a power, both in Q64.64. Each product is cut, as the programs cut it. */
function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [one, base];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) >> scaleBits;
    square = (square * square) >> scaleBits;
  }
  return result;
}

/** The rate when `passed` slots or seconds have passed; null if the program cannot compute it. */
export function scheduledRate({ kind, cliff, periods, frequency, reduction }: FeeSchedule, passed: bigint): bigint | null {
  const over = frequency === 0n || passed < 0n ? 0n : passed / frequency;
  const period = over < periods ? over : periods;
  if (period === 0n) return cliff;
  if (kind === 'linear') return period * reduction > cliff ? null : cliff - period * reduction;
  if (reduction === 0n || reduction > basisPoints) return null;
  const left = power(one - (reduction << scaleBits) / basisPoints, period);
  return left === 0n ? null : (cliff * left) >> scaleBits;
}

/** What the volatility of the price adds to a rate. The accumulator is that of the pool before the swap. */
export function variableRate(binStep: bigint, control: bigint, accumulator: bigint): bigint {
  const moved = accumulator * binStep;
  return dividedUp(moved * moved * control, 100_000_000_000n);
}
