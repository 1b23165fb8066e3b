import { maxU64, type QuoteFault } from '../quoting.ts';
import { swapStep } from './swap-step.ts';
import { swapWay, type LiquidityTick } from './tick-arrays.ts';
import { sqrtPriceOfTick } from './tick-math.ts';

/** Everything on which a swap depends. */
export interface SwapState {
  readonly sqrtPriceX64: bigint;
  readonly liquidity: bigint;
  readonly tick: number;
  readonly tickSpacing: number;
  readonly feeRate: number;
  readonly protocolFeeRate: number;
  /** Initialized ticks of all arrays that the swap may pass, the lowest first. */
  readonly ticks: readonly LiquidityTick[];
}

interface SwapOrder {
  readonly amount: bigint;
  /** `amount` is what the trader pays; if false, what the trader receives. */
  readonly exactIn: boolean;
  /** The trader pays A, and the price falls. */
  readonly aToB: boolean;
}

interface Swapped {
  /** What the trader pays, fees included. */
  readonly amountIn: bigint;
  readonly amountOut: bigint;
  /** Parts of the fee, in the coin that the trader pays. */
  readonly lpFee: bigint;
  readonly protocolFee: bigint;
  readonly sqrtPrice: bigint;
}

const basisPoints = 10_000n;
const maxU128 = (1n << 128n) - 1n;

/** The ticks at which the liquidity changes, in the order of the swap, and the tick at the end of the arrays. */
function ticksAhead({ tick: current, tickSpacing, ticks }: SwapState, aToB: boolean): LiquidityTick[] {
  const { starts, end } = swapWay(current, tickSpacing, aToB);
  if (starts.length === 0) return [];
  const met = ticks.filter(({ tick }) => (aToB ? tick <= current && tick >= end : tick > current && tick <= end));
  return [...(aToB ? met.toReversed() : met), { tick: end, net: 0n }];
}

/**
 * Computes a swap like the program, step by step from one initialized tick to the next. The result is `too_large` if the swap needs more
 * arrays than one swap may use, or more coins than the pool has.
 */
export function swap(state: SwapState, { amount, exactIn, aToB }: SwapOrder): Swapped | QuoteFault {
  const feeRate = BigInt(state.feeRate);
  let { liquidity, sqrtPriceX64: sqrtPrice } = state;
  let [remaining, given, gotten, fees, protocolFee] = [amount, 0n, 0n, 0n, 0n];
  for (const { tick, net } of ticksAhead(state, aToB)) {
    const target = sqrtPriceOfTick(tick);
    while (remaining > 0n && sqrtPrice !== target) {
      const step = swapStep({ remaining, feeRate, liquidity, sqrtPrice, target, exactIn, aToB });
      if (step === null || (step.sqrtPrice === sqrtPrice && step.amountIn + step.fee + step.amountOut === 0n)) return 'too_large';
      ({ sqrtPrice } = step);
      remaining -= exactIn ? step.amountIn + step.fee : step.amountOut;
      given += step.amountIn + step.fee;
      gotten += step.amountOut;
      fees += step.fee;
      protocolFee += (step.fee * BigInt(state.protocolFeeRate)) / basisPoints;
      if (remaining < 0n || given > maxU64 || gotten > maxU64) return 'too_large';
    }
    if (remaining === 0n) break;
    liquidity += aToB ? -net : net;
    if (liquidity < 0n || liquidity > maxU128) return 'too_large';
  }
  if (remaining > 0n) return 'too_large';
  return { amountIn: given, amountOut: gotten, lpFee: fees - protocolFee, protocolFee, sqrtPrice };
}
