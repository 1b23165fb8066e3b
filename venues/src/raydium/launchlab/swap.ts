import { amountOut } from '../../kit/constant-product.ts';
import { rateDenominator } from '../../kit/fee-tier.ts';
import type { PoolSwap } from '../../kit/pool-quote.ts';
import { maxU64, type QuoteFault } from '../../seam/quoting.ts';
import type { Fee, PoolReserves } from '../../seam/venue.ts';
import type { PlatformFees } from './config.ts';

/** Everything on which a trade depends. Rates are millionths. */
export interface SwapState {
  readonly reserves: PoolReserves;
  readonly rates: PlatformFees & { readonly protocol: bigint };
  /** Tokens that were sold: no more can come back. */
  readonly sold: bigint;
}

function dividedUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** One fee, rounded up, is split: the parts of platform and creator are rounded down, and the protocol gets the rest. */
function feesOf(total: bigint, { protocol, platform, creator }: SwapState['rates']): readonly Fee[] {
  const rate = protocol + platform + creator;
  const part = (of: bigint): bigint => (rate === 0n ? 0n : (total * of) / rate);
  const [ofPlatform, ofCreator] = [part(platform), part(creator)];
  const fee = (kind: Fee['kind'], amount: bigint, of: bigint): Fee => ({ kind, amount, bps: Math.round(Number(of) / 100), coin: 'quote' });
  return [
    fee('protocol', total - ofPlatform - ofCreator, protocol),
    fee('platform', ofPlatform, platform),
    fee('creator', ofCreator, creator),
  ];
}

/** Swaps like the program. A purchase of more than the curve has left gets the rest, at its price. */
export function swapOn({ reserves, rates, sold }: SwapState, amount: bigint, exactIn: boolean, isBuy: boolean): PoolSwap | QuoteFault {
  const { virtualBase, virtualQuote, realBase, realQuote } = reserves;
  const rate = rates.protocol + rates.platform + rates.creator;
  const feeOn = (quote: bigint): bigint => dividedUp(quote * rate, rateDenominator);
  if (!isBuy) {
    const left = amountOut(amount, virtualBase, virtualQuote);
    const fee = feeOn(left);
    if (amount > sold || left > realQuote) return 'too_large';
    return left <= fee ? 'too_small' : { amountIn: amount, amountOut: left - fee, through: amount, left, fees: feesOf(fee, rates) };
  }
  const net = exactIn ? amount - feeOn(amount) : 0n;
  const requested = exactIn ? amountOut(net, virtualQuote, virtualBase) : amount;
  const cut = requested > realBase;
  const base = cut ? realBase : requested;
  if (base <= 0n) return 'too_small';
  const isExact = exactIn && !cut;
  const through = isExact ? net : dividedUp(virtualQuote * base, virtualBase - base);
  const paid = isExact ? amount : dividedUp(through * rateDenominator, rateDenominator - rate);
  if (virtualQuote + paid > maxU64) return 'too_large';
  return { amountIn: paid, amountOut: base, through, left: base, fees: feesOf(paid - through, rates), cut };
}
