import { maxU64 } from '../../seam/quoting.ts';
import type { PoolReserves } from '../../seam/venue.ts';
import { dividedUp } from '../fees/fee-rates.ts';

/** A price range with constant liquidity. Prices are square roots in Q64.64; the liquidity is that of raw amounts, times 2^64. */
export interface Piece {
  readonly lower: bigint;
  readonly upper: bigint;
  readonly liquidity: bigint;
}

/** The curve of a config, from its first price on, in the order of prices. */
export interface Curve {
  readonly pieces: readonly Piece[];
  /** For each piece, the base that the pieces above sell up to the end, and the quote that those below took. */
  readonly sums: readonly { readonly baseAbove: bigint; readonly quoteBelow: bigint }[];
  /** Where the curve is complete. No purchase goes beyond. */
  readonly end: bigint;
}

const priceBits = 128n;

function divided(numerator: bigint, denominator: bigint, roundUp: boolean): bigint {
  return roundUp ? dividedUp(numerator, denominator) : numerator / denominator;
}

/** Base between two prices: liquidity × (1/lower − 1/upper). */
function baseBetween(lower: bigint, upper: bigint, liquidity: bigint, roundUp: boolean): bigint {
  return divided(liquidity * (upper - lower), lower * upper, roundUp);
}

/** Quote between two prices: liquidity × (upper − lower). */
function quoteBetween(lower: bigint, upper: bigint, liquidity: bigint, roundUp: boolean): bigint {
  return divided(liquidity * (upper - lower), 1n << priceBits, roundUp);
}

interface Direction {
  readonly isBuy: boolean;
  /** The amount is what comes in; if false, what goes out. */
  readonly exactIn: boolean;
}

/** The price after an amount moved within a piece. Null if the piece does not have this much. */
function priceAfter(price: bigint, liquidity: bigint, amount: bigint, { isBuy, exactIn }: Direction): bigint | null {
  if (isBuy && exactIn) return price + (amount << priceBits) / liquidity;
  if (!isBuy && !exactIn) return price - dividedUp(amount << priceBits, liquidity);
  const denominator = exactIn ? liquidity + amount * price : liquidity - amount * price;
  return denominator <= 0n ? null : dividedUp(liquidity * price, denominator);
}

export interface Walked {
  /** Of the other coin: what goes out for an exact input, what must come in for an exact output. */
  readonly amount: bigint;
  readonly price: bigint;
  /** The part of the given amount for which the curve has nothing. */
  readonly left: bigint;
}

/** Moves an amount along the curve like the program, piece by piece. What comes in is rounded up, what goes out down. Null if it would fail. */
export function walk({ pieces, end }: Curve, from: bigint, given: bigint, direction: Direction): Walked | null {
  const { isBuy, exactIn } = direction;
  // The given amount is of this coin; the other amount follows.
  const [known, other] = isBuy === exactIn ? [quoteBetween, baseBetween] : [baseBetween, quoteBetween];
  let [price, left, amount] = [from, given, 0n];
  for (let step = 0; step < pieces.length && left > 0n; step++) {
    const isLast = step === pieces.length - 1;
    const { lower, upper, liquidity } = pieces[isBuy ? step : pieces.length - 1 - step]!;
    // Only an exact input stops at the end of the curve. An exact output fails beyond it.
    const goal = isBuy ? (exactIn && end < upper ? end : upper) : lower;
    if (isBuy ? goal <= price : goal >= price) continue;
    const between = (of: typeof known, to: bigint, roundUp: boolean): bigint =>
      isBuy ? of(price, to, liquidity, roundUp) : of(to, price, liquidity, roundUp);
    const most = between(known, goal, exactIn);
    const within = left < most || (!isBuy && isLast) ? priceAfter(price, liquidity, left, direction) : null;
    // In the first piece of the curve, a sale goes as far as its rounded price allows.
    const isPartial = within !== null && (left < most || within >= lower);
    const next = isPartial ? within : goal;
    if (left < most && within === null) return null;
    amount += between(other, next, !exactIn);
    left = isPartial ? 0n : left - most;
    price = next;
    if (isBuy && exactIn && price === end) break;
  }
  return amount > maxU64 || price > end ? null : { amount, price, left };
}

/** The base of a piece from a price on, as far as the curve goes. */
function baseFrom(price: bigint, { upper, liquidity }: Piece, end: bigint): bigint {
  const to = upper < end ? upper : end;
  return price < to ? baseBetween(price, to, liquidity, false) : 0n;
}

export function curveOfPieces(pieces: readonly Piece[], end: bigint): Curve {
  const sums = pieces.map((_, at) => ({
    baseAbove: pieces.slice(at + 1).reduce((sum, piece) => sum + baseFrom(piece.lower, piece, end), 0n),
    quoteBelow: pieces.slice(0, at).reduce((sum, { lower, upper, liquidity }) => sum + quoteBetween(lower, upper, liquidity, true), 0n),
  }));
  return { pieces, sums, end };
}

/** The reserves at a price, by the piece that contains it. If nobody knows the real quote, it follows from the price. Null if no piece contains it. */
export function reservesAt({ pieces, sums, end }: Curve, price: bigint, realQuote: bigint | null): PoolReserves | null {
  const at = pieces.findIndex(({ lower, upper }) => lower <= price && price <= upper);
  const piece = pieces[at];
  if (piece === undefined) return null;
  const { lower, liquidity } = piece;
  const [virtualBase, virtualQuote] = [liquidity / price, (liquidity * price) >> priceBits];
  if (virtualBase === 0n || virtualQuote === 0n) return null;
  return {
    virtualBase,
    virtualQuote,
    realBase: sums[at]!.baseAbove + baseFrom(price, piece, end),
    realQuote: realQuote ?? sums[at]!.quoteBelow + quoteBetween(lower, price, liquidity, true),
  };
}
