import { maxU64 } from '../seam/quoting.ts';

/** Fee rates are hundredths of a basis point. */
const feeDenominator = 1_000_000n;
const maxU128 = (1n << 128n) - 1n;
const fraction = (1n << 64n) - 1n;

/** A part of a swap with constant liquidity. Amounts are raw; prices are square roots in Q64.64. */
interface StepInput {
  readonly remaining: bigint;
  readonly feeRate: bigint;
  /** The fee is taken from what the trader pays; if false, from what the trader receives. */
  readonly feeOnInput: boolean;
  readonly liquidity: bigint;
  readonly sqrtPrice: bigint;
  /** The price at which the step ends at the latest. */
  readonly target: bigint;
  /** `remaining` is what the trader pays; if false, what the trader receives. */
  readonly exactIn: boolean;
  /** The trader pays A, and the price falls. */
  readonly aToB: boolean;
}

interface Step {
  /** What goes into the pool, without a fee on it. */
  readonly amountIn: bigint;
  /** What the trader receives. */
  readonly amountOut: bigint;
  readonly fee: bigint;
  readonly sqrtPrice: bigint;
}

function divided(numerator: bigint, denominator: bigint, roundUp: boolean): bigint {
  const quotient = numerator / denominator;
  return roundUp && quotient * denominator !== numerator ? quotient + 1n : quotient;
}

/** A between two prices: liquidity × (1/low − 1/high). Null if it exceeds a u64. */
function amountOfA(one: bigint, other: bigint, liquidity: bigint, roundUp: boolean): bigint | null {
  const [low, high] = one < other ? [one, other] : [other, one];
  const amount = divided((liquidity * (high - low)) << 64n, high * low, roundUp);
  return amount > maxU64 ? null : amount;
}

/** B between two prices: liquidity × (high − low). Null if the program's arithmetic overflows. */
function amountOfB(one: bigint, other: bigint, liquidity: bigint, roundUp: boolean): bigint | null {
  const product = liquidity * (one < other ? other - one : one - other);
  if (product > maxU128) return null;
  const amount = product >> 64n;
  return roundUp && (product & fraction) > 0n ? (amount === maxU64 ? null : amount + 1n) : amount;
}

/** The price after an amount of A came in or went out, rounded up, to the trader's disadvantage. Null if the pool does not have this much. */
function priceAfterA(sqrtPrice: bigint, liquidity: bigint, amount: bigint, exactIn: boolean): bigint | null {
  if (amount === 0n) return sqrtPrice;
  const denominator = exactIn ? (liquidity << 64n) + amount * sqrtPrice : (liquidity << 64n) - amount * sqrtPrice;
  return denominator <= 0n ? null : divided((liquidity * sqrtPrice) << 64n, denominator, true);
}

/** The same for B, rounded down. */
function priceAfterB(sqrtPrice: bigint, liquidity: bigint, amount: bigint, exactIn: boolean): bigint | null {
  if (liquidity === 0n) return null;
  const way = divided(amount << 64n, liquidity, !exactIn);
  return exactIn ? sqrtPrice + way : sqrtPrice - way;
}

/** The amount that moves the price: without the fee on what comes in, or with the fee on what goes out. */
function movingAmount({ remaining, feeRate, feeOnInput, exactIn }: StepInput): bigint {
  if (exactIn === feeOnInput) return exactIn ? (remaining * (feeDenominator - feeRate)) / feeDenominator : grossOf(remaining, feeRate);
  return remaining;
}

function grossOf(net: bigint, feeRate: bigint): bigint {
  return divided(net * feeDenominator, feeDenominator - feeRate, true);
}

/** The step with its fee, from the amounts that the pool's formula gives. */
function charged(input: StepInput, amountIn: bigint, gross: bigint, sqrtPrice: bigint): Step {
  const { remaining, feeRate, feeOnInput, exactIn, target } = input;
  if (feeOnInput) {
    const amountOut = exactIn || gross < remaining ? gross : remaining;
    // The last step of an exact input uses all of the rest: what rounding leaves over is fee.
    const fee = exactIn && sqrtPrice !== target ? remaining - amountIn : divided(amountIn * feeRate, feeDenominator - feeRate, true);
    return { amountIn, amountOut, fee, sqrtPrice };
  }
  const fee = divided(gross * feeRate, feeDenominator, true);
  if (exactIn) return { amountIn: sqrtPrice === target ? amountIn : remaining, amountOut: gross - fee, fee, sqrtPrice };
  const amountOut = gross - fee < remaining ? gross - fee : remaining;
  return { amountIn, amountOut, fee: gross - amountOut, sqrtPrice };
}

/** Computes one step like the programs. Null if they would fail. */
export function swapStep(input: StepInput): Step | null {
  const { liquidity, sqrtPrice, target, exactIn, aToB } = input;
  // The trade fixes the amount of one coin; the other amount follows from it. Amounts that come in are rounded up.
  const fixesA = aToB === exactIn;
  const [fixedOf, otherOf] = fixesA ? [amountOfA, amountOfB] : [amountOfB, amountOfA];
  const toTarget = fixedOf(sqrtPrice, target, liquidity, exactIn);
  const available = movingAmount(input);
  const isEnough = toTarget !== null && toTarget <= available;
  const next = isEnough ? target : (fixesA ? priceAfterA : priceAfterB)(sqrtPrice, liquidity, available, exactIn);
  if (next === null || (aToB ? next < target : next > target)) return null;
  const fixed = isEnough ? toTarget : fixedOf(sqrtPrice, next, liquidity, exactIn);
  const other = otherOf(sqrtPrice, next, liquidity, !exactIn);
  if (fixed === null || other === null) return null;
  const step = charged(input, exactIn ? fixed : other, exactIn ? other : fixed, next);
  return step.fee < 0n || step.fee > maxU64 ? null : step;
}
