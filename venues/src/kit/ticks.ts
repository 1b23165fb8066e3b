import type { PriceTick } from './swap-through.ts';

/** Prices of ticks: tick `t` has the price 1.0001^t, and its square root is a Q64.64 integer, rounded as the program rounds. */
export const maxTick = 443_636;
export const minTick = -maxTick;
export const minSqrtPrice = 4_295_048_016n;

/** The product of those factors whose place is a bit of the exponent. Each product is cut to `bits`, so the order of the factors matters. */
export function product(exponent: number, factors: readonly bigint[], bits: bigint): bigint {
  let ratio = 1n << bits;
  for (const [bit, factor] of factors.entries()) if ((exponent & (1 << bit)) !== 0) ratio = (ratio * factor) >> bits;
  return ratio;
}

/** A tick at which positions begin or end. */
export interface LiquidityTick extends Omit<PriceTick, 'sqrtPrice'> {
  readonly tick: number;
}

/** What a swap meets from the current tick on, in its order. */
export function ticksAhead<T extends LiquidityTick>(ticks: readonly T[], current: number, aToB: boolean): readonly T[] {
  const ahead = ticks.filter(({ tick }) => (aToB ? tick <= current : tick > current));
  return ahead.toSorted((one, other) => (aToB ? other.tick - one.tick : one.tick - other.tick));
}

/** Arrays that one quote uses in one direction. Programs pass as many as the transaction names. */
const arraysPerSwap = 3;
/** Bits of a pool's own bitmap; array 0 is in the middle. Arrays beyond it are in another account, and are not quoted. */
const bitmapBits = 1_024;

/** The numbers of the arrays that hold liquidity and that a swap passes, in its order, as the pool's bitmap shows them. */
export function arraysAhead(bitmap: Uint8Array, current: number, falls: boolean): readonly number[] {
  const arrays: number[] = [];
  const middle = bitmapBits / 2;
  for (let bit = current + middle; bit >= 0 && bit < bitmapBits && arrays.length < arraysPerSwap; bit += falls ? -1 : 1) {
    if ((bitmap[bit >> 3]! & (1 << (bit & 7))) !== 0) arrays.push(bit - middle);
  }
  return arrays;
}
