import { maxU64, type QuoteFault } from '../seam/quoting.ts';
import { swapStep } from './swap-step.ts';

/** A price at which the liquidity changes. */
export interface PriceTick {
  /** Its square root, Q64.64. */
  readonly sqrtPrice: bigint;
  /** Liquidity that is added there if the price rises. */
  readonly net: bigint;
  /** What happens there is not known here, so no quote goes beyond it. */
  readonly isEnd?: boolean;
}

/** Everything on which a swap depends. */
export interface ConcentratedState {
  readonly sqrtPriceX64: bigint;
  readonly liquidity: bigint;
  /** Hundredths of a basis point. */
  readonly feeRate: bigint;
  readonly feeOnInput: boolean;
  /** In the order of the swap. The last one is where the swap must end. */
  readonly ticks: readonly PriceTick[];
  /** The parts of the fee of one step that others get than the liquidity providers. They are rounded in each step. */
  readonly split: (fee: bigint) => readonly bigint[];
}

interface SwapOrder {
  readonly amount: bigint;
  /** `amount` is what the trader pays; if false, what the trader receives. */
  readonly exactIn: boolean;
  /** The trader pays A, and the price falls. */
  readonly aToB: boolean;
}

export interface Swapped {
  /** What the trader pays and receives, fees included. */
  readonly amountIn: bigint;
  readonly amountOut: bigint;
  readonly fee: bigint;
  /** The sums of what `split` gave. */
  readonly parts: readonly bigint[];
}

const maxU128 = (1n << 128n) - 1n;

/** Computes a swap like the programs, tick by tick. `too_large` if it needs more ticks than there are, or more coins than the pool has. */
export function swapThrough(state: ConcentratedState, { amount, exactIn, aToB }: SwapOrder): Swapped | QuoteFault {
  const { feeRate, feeOnInput, ticks, split } = state;
  let { liquidity, sqrtPriceX64: sqrtPrice } = state;
  let [remaining, given, gotten, fees] = [amount, 0n, 0n, 0n];
  let parts: readonly bigint[] = split(0n);
  for (const { sqrtPrice: target, net, isEnd } of ticks) {
    while (remaining > 0n && sqrtPrice !== target) {
      const step = swapStep({ remaining, feeRate, feeOnInput, liquidity, sqrtPrice, target, exactIn, aToB });
      if (step === null || (step.sqrtPrice === sqrtPrice && step.amountIn + step.fee + step.amountOut === 0n)) return 'too_large';
      ({ sqrtPrice } = step);
      const paid = feeOnInput ? step.amountIn + step.fee : step.amountIn;
      remaining -= exactIn ? paid : step.amountOut;
      given += paid;
      gotten += step.amountOut;
      fees += step.fee;
      const more = split(step.fee);
      parts = parts.map((sum, at) => sum + more[at]!);
      if (remaining < 0n || given > maxU64 || gotten > maxU64) return 'too_large';
    }
    if (remaining === 0n) break;
    if (isEnd === true) return 'too_large';
    liquidity += aToB ? -net : net;
    if (liquidity < 0n || liquidity > maxU128) return 'too_large';
  }
  return remaining > 0n ? 'too_large' : { amountIn: given, amountOut: gotten, fee: fees, parts };
}
