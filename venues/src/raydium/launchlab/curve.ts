import type { PoolReserves } from '../../seam/venue.ts';

/** The parameters of a curve, and what trades have moved. The names are those of the program. */
export interface CurveNumbers {
  readonly totalBaseSell: bigint;
  readonly virtualBase: bigint;
  readonly virtualQuote: bigint;
  /** Tokens that were sold. */
  readonly realBase: bigint;
  /** Quote coins that were raised. */
  readonly realQuote: bigint;
}

/**
 * The reserves of a constant product. Null for numbers of another kind: a linear price has no virtual quote, and a fixed price has as many virtual tokens
 * as the curve sells.
 */
export function reservesOf({ totalBaseSell, virtualBase, virtualQuote, realBase, realQuote }: CurveNumbers): PoolReserves | null {
  if (virtualQuote === 0n || virtualBase <= totalBaseSell || realBase > totalBaseSell) return null;
  return { virtualBase: virtualBase - realBase, virtualQuote: virtualQuote + realQuote, realBase: totalBaseSell - realBase, realQuote };
}

/** What a launch says about its curve. */
export interface LaunchTerms {
  readonly supply: bigint;
  readonly totalBaseSell: bigint;
  /** Quote coins that complete the curve. */
  readonly goal: bigint;
  /** Tokens that vest and are in no pool. */
  readonly locked: bigint;
}

/**
 * The parameters with which the program opens a curve: its last price is the first price of the pool that follows, to which all of the goal moves. Null if
 * there is no such curve.
 */
export function openingNumbers({ supply, totalBaseSell, goal, locked }: LaunchTerms): CurveNumbers | null {
  const migrated = supply - totalBaseSell - locked;
  if (migrated <= 0n) return null;
  const worth = (goal * totalBaseSell) / migrated - goal;
  if (worth <= 0n) return null;
  return {
    totalBaseSell,
    virtualBase: (goal * totalBaseSell * totalBaseSell) / migrated / worth,
    virtualQuote: (goal * goal) / worth,
    realBase: 0n,
    realQuote: 0n,
  };
}
