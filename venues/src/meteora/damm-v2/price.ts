import { depthWithin, stateOfSqrtPrice } from '../../kit/concentrated.ts';
import type { PriceState } from '../../seam/venue.ts';

/**
 * A pool has one liquidity between its lowest and highest price. In the program's integers, A is L / √p, and B is L × √p / 2^128. An event
 * shows the price and what the pool has, but neither L nor the range.
 */
const scaleBits = 128n;
const fractionBits = 64n;

interface Held {
  readonly sqrtPrice: bigint;
  readonly a: bigint;
  readonly b: bigint;
}

/** The smallest liquidity with which a pool can hold this. It is exact if the range is open on one side, as almost always. */
function leastLiquidity({ sqrtPrice, a, b }: Held): bigint {
  const [ofA, ofB] = [a * sqrtPrice, (b << scaleBits) / sqrtPrice];
  return ofA > ofB ? ofA : ofB;
}

/** The exact price, and a depth that is never too large. */
export function stateOfHeld(held: Held, liquidity = leastLiquidity(held)): PriceState {
  const state = stateOfSqrtPrice(held.sqrtPrice, liquidity >> fractionBits);
  return { ...state, depth: depthWithin(state, held.a, held.b) };
}

/**
 * The price before a swap that moved these amounts; null if it cannot be computed. With constant liquidity, the ratio of the amounts is the
 * geometric mean of both prices, as exactly as the amounts are large. The smallest liquidity bounds how far small amounts moved the price.
 */
export function priceBefore(
  held: Held,
  isSell: boolean,
  movedA: bigint,
  movedB: bigint,
): Pick<PriceState, 'priceQuote' | 'priceBase'> | null {
  const least = leastLiquidity(held);
  if (least === 0n || movedA === 0n) return null;
  const after = held.sqrtPrice;
  const byAmounts = (movedB << scaleBits) / (movedA * after);
  const farthest = (movedB << scaleBits) / least;
  const way = isSell ? byAmounts - after : after - byAmounts;
  const sure = way < 0n ? 0n : way < farthest ? way : farthest;
  const before = isSell ? after + sure : after - sure;
  return before <= 0n ? null : stateOfSqrtPrice(before, null);
}
