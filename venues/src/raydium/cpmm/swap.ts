import { amountOut, dividedUp } from '../../kit/constant-product.ts';
import { rateDenominator, splitTradeFee, type TierParts } from '../../kit/fee-tier.ts';
import type { CpmmRates } from './config.ts';

/** Everything on which a swap depends. Reserves are without the fees that wait in the vaults. */
export interface SwapState {
  readonly reserveIn: bigint;
  readonly reserveOut: bigint;
  /** `creator` is 0 if the pool has no creator's fee. */
  readonly rates: CpmmRates;
  readonly creatorFeeOnInput: boolean;
}

export interface Swap {
  /** What reaches the vault and what leaves it, fees included. */
  readonly amountIn: bigint;
  readonly amountOut: bigint;
  /** What the formula counts: without the fees. */
  readonly through: bigint;
  readonly left: bigint;
  /** The trade fee's parts are in the coin that comes in. */
  readonly fees: TierParts & { readonly creator: bigint };
}

/** The smallest amount that is `net` after a fee of this rate. */
function beforeFee(net: bigint, rate: bigint): bigint {
  return rate === 0n ? net : dividedUp(net * rateDenominator, rateDenominator - rate);
}

/** The creator's part of one fee for pool and creator, rounded down. */
function creatorPart(total: bigint, { trade, creator }: CpmmRates): bigint {
  return (total * creator) / (trade + creator);
}

/** Null if the program refuses the swap. Its own division by zero refuses one without any fee. */
export function swapExactIn({ reserveIn, reserveOut, rates, creatorFeeOnInput }: SwapState, amountIn: bigint): Swap | null {
  const { trade, creator } = rates;
  if (creatorFeeOnInput && trade + creator === 0n) return null;
  const total = dividedUp(amountIn * (creatorFeeOnInput ? trade + creator : trade), rateDenominator);
  const creatorIn = creatorFeeOnInput ? creatorPart(total, rates) : 0n;
  const through = amountIn - total;
  const left = amountOut(through, reserveIn, reserveOut);
  const creatorOut = creatorFeeOnInput ? 0n : dividedUp(left * creator, rateDenominator);
  const fees = { ...splitTradeFee(total - creatorIn, rates), creator: creatorIn + creatorOut };
  return { amountIn, amountOut: left - creatorOut, through, left, fees };
}

/** Null if the pool does not have this much. */
export function swapExactOut({ reserveIn, reserveOut, rates, creatorFeeOnInput }: SwapState, out: bigint): Swap | null {
  const { trade, creator } = rates;
  const left = creatorFeeOnInput ? out : beforeFee(out, creator);
  if (left >= reserveOut || (creatorFeeOnInput && trade + creator === 0n)) return null;
  const through = dividedUp(reserveIn * left, reserveOut - left);
  const amountIn = beforeFee(through, creatorFeeOnInput ? trade + creator : trade);
  const total = amountIn - through;
  const creatorIn = creatorFeeOnInput ? creatorPart(total, rates) : 0n;
  const fees = { ...splitTradeFee(total - creatorIn, rates), creator: creatorIn + left - out };
  return { amountIn, amountOut: out, through, left, fees };
}
