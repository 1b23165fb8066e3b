import { dividedUp, feeDenominator, feeOf, withFee } from './fee-rates.ts';

/** A base fee that rises with the size of a purchase: each further `reference` pays `increment` more, up to `max`. */
export interface RateLimiter {
  /** The rate of the first `reference`. */
  readonly cliff: bigint;
  readonly increment: bigint;
  readonly reference: bigint;
  readonly max: bigint;
}

const maxU64 = (1n << 64n) - 1n;

/** The largest integer whose square is not above `value`. */
function squareRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt((value.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** How many increments there are. */
function stepsOf({ cliff, increment, max }: RateLimiter): bigint {
  return (max - cliff) / increment;
}

/** The rate of an amount that contains the fee. */
export function limitedRate(limiter: RateLimiter, amount: bigint): bigint {
  const { cliff, increment, reference, max } = limiter;
  if (amount <= reference) return cliff;
  const [whole, rest] = [(amount - reference) / reference, (amount - reference) % reference];
  const steps = stepsOf(limiter);
  const full = whole < steps ? whole : steps;
  const ofFull = reference * (cliff + cliff * full + (increment * full * (full + 1n)) / 2n);
  const ofRest = whole < steps ? rest * (cliff + increment * (whole + 1n)) : ((whole - steps) * reference + rest) * max;
  return dividedUp(dividedUp(ofFull + ofRest, feeDenominator) * feeDenominator, amount);
}

function netOf(limiter: RateLimiter, amount: bigint): bigint {
  return amount - feeOf(amount, limitedRate(limiter, amount));
}

/** The rate of an amount without the fee, which the programs compute apart: it can differ a little. Null if they cannot. */
export function limitedRateOfNet(limiter: RateLimiter, net: bigint): bigint | null {
  const { cliff, increment, reference, max } = limiter;
  if (net <= netOf(limiter, reference)) return cliff;
  const lastAmount = (stepsOf(limiter) + 1n) * reference;
  const isBounded = lastAmount <= maxU64;
  const last = isBounded ? lastAmount : maxU64;
  const netOfLast = netOf(limiter, last);
  if (net === netOfLast) return limitedRate(limiter, last);
  let amount: bigint;
  if (net < netOfLast) {
    // The fee grows with the square of the amount. The rest after the rounded root pays the rate of the next step.
    const linear = reference * (2n * feeDenominator + increment - 2n * cliff);
    const discriminant = linear * linear - 8n * increment * net * feeDenominator * reference;
    if (discriminant < 0n) return null;
    const rooted = (linear - squareRoot(discriminant)) / (2n * increment);
    const [rest, rate] = [net - netOf(limiter, rooted), cliff + increment * (rooted / reference)];
    if (rest < 0n || rate >= feeDenominator) return null;
    amount = rooted + withFee(rest, rate);
  } else if (isBounded) amount = last + withFee(net - netOfLast, max);
  else return null;
  const rate = dividedUp((amount - net) * feeDenominator, amount);
  return rate < cliff ? null : rate;
}
