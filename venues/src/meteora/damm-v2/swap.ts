import { amountOut as constantProductOut } from '../../kit/constant-product.ts';
import { maxU64 } from '../../seam/quoting.ts';
import { dividedUp } from '../fees/fee-rates.ts';
import type { DammPool } from './pool.ts';
import { collectFeeModes } from './program.ts';

/** The arithmetic of a pool, without fees. Prices are square roots in Q64.64, the liquidity too. */
const scaleBits = 128n;
const one = 1n << scaleBits;

function compounds({ collectFeeMode }: DammPool): boolean {
  return collectFeeMode === collectFeeModes.compounding;
}

function within({ sqrtMinPrice, sqrtMaxPrice }: DammPool, next: bigint): boolean {
  return next >= sqrtMinPrice && next <= sqrtMaxPrice && next > 0n;
}

/** What leaves the pool for what comes in; null if the pool does not have this much. */
export function leftFor(pool: DammPool, through: bigint, paysA: boolean): bigint | null {
  const { liquidity, sqrtPrice, amountA, amountB } = pool;
  const [reserveIn, reserveOut] = paysA ? [amountA, amountB] : [amountB, amountA];
  if (reserveIn + through > maxU64) return null;
  if (compounds(pool)) return reserveIn + through === 0n ? null : constantProductOut(through, reserveIn, reserveOut);
  if (liquidity === 0n) return null;
  const product = liquidity * sqrtPrice;
  const next = paysA ? dividedUp(product, liquidity + through * sqrtPrice) : sqrtPrice + (through << scaleBits) / liquidity;
  if (!within(pool, next)) return null;
  const left = paysA ? (liquidity * (sqrtPrice - next)) >> scaleBits : (liquidity * (next - sqrtPrice)) / (sqrtPrice * next);
  return left > reserveOut ? null : left;
}

/** What comes in for what leaves the pool; null if the pool does not have this much. */
export function throughFor(pool: DammPool, left: bigint, paysA: boolean): bigint | null {
  const { liquidity, amountA, amountB } = pool;
  const [reserveIn, reserveOut] = paysA ? [amountA, amountB] : [amountB, amountA];
  if (left > reserveOut) return null;
  const through = compounds(pool) ? productThrough(left, reserveIn, reserveOut) : liquidity === 0n ? null : rangeThrough(pool, left, paysA);
  return through === null || reserveIn + through > maxU64 ? null : through;
}

function productThrough(left: bigint, reserveIn: bigint, reserveOut: bigint): bigint | null {
  return left === reserveOut ? null : dividedUp(reserveIn * left, reserveOut - left);
}

function rangeThrough(pool: DammPool, left: bigint, paysA: boolean): bigint | null {
  const { liquidity, sqrtPrice } = pool;
  if (paysA) {
    const next = sqrtPrice - dividedUp(left << scaleBits, liquidity);
    return within(pool, next) ? dividedUp(liquidity * (sqrtPrice - next), next * sqrtPrice) : null;
  }
  const rest = liquidity - left * sqrtPrice;
  if (rest <= 0n) return null;
  const next = dividedUp(liquidity * sqrtPrice, rest);
  return within(pool, next) ? dividedUp(liquidity * (next - sqrtPrice), one) : null;
}
