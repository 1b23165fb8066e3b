import type { QuoteFault } from '../../seam/quoting.ts';
import { swapThrough, type PriceTick, type Swapped } from '../../kit/swap-through.ts';
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

const basisPoints = 10_000n;

/** The ticks at which the liquidity changes, in the order of the swap, and the tick at the end of the arrays. */
function ticksAhead({ tick: current, tickSpacing, ticks }: SwapState, aToB: boolean): readonly PriceTick[] {
  const { starts, end } = swapWay(current, tickSpacing, aToB);
  if (starts.length === 0) return [];
  const met = ticks.filter(({ tick }) => (aToB ? tick <= current && tick >= end : tick > current && tick <= end));
  const inOrder = [...(aToB ? met.toReversed() : met), { tick: end, net: 0n }];
  return inOrder.map(({ tick, net }) => ({ sqrtPrice: sqrtPriceOfTick(tick), net }));
}

/** Computes a swap like the program. The parts of its fee are those of the protocol. */
export function swap(state: SwapState, order: { amount: bigint; exactIn: boolean; aToB: boolean }): Swapped | QuoteFault {
  const { sqrtPriceX64, liquidity, protocolFeeRate } = state;
  const split = (fee: bigint): readonly bigint[] => [(fee * BigInt(protocolFeeRate)) / basisPoints];
  const ticks = ticksAhead(state, order.aToB);
  return swapThrough({ sqrtPriceX64, liquidity, feeRate: BigInt(state.feeRate), feeOnInput: true, ticks, split }, order);
}
