import { u128At } from '@sluice/shared/solana/encoding/bytes.ts';
import { rateOfBps, scheduledRate, variableRate } from '../fees/fee-rates.ts';
import { limitedRate, limitedRateOfNet } from '../fees/rate-limiter.ts';
import { dynamicFee, pool as at } from './layout.ts';
import type { DammPool } from './pool.ts';

/** How the base fee of a pool changes: with time, with the size of a purchase, or with the price. */
const linearTime = 0;
const exponentialTime = 1;
const rateLimiter = 2;
const linearPrice = 3;
const exponentialPrice = 4;

/** The largest rate of a pool, by the version of its fees. */
const maxRates = [500_000_000n, 990_000_000n] as const;
const basisPoints = 10_000n;

/** An amount from which a fee is taken. */
export interface RatedAmount {
  readonly amount: bigint;
  /** It contains the fee. */
  readonly isGross: boolean;
  /** The trader pays B. */
  readonly paysB: boolean;
  /** Slots or seconds since the pool opened. */
  readonly passed: bigint;
}

/** The rate of the whole fee; null if it cannot be computed. */
export function rateOf(pool: DammPool, of: RatedAmount): bigint | null {
  const [base, max] = [baseRate(pool, of), maxRates[pool.view.getUint8(at.feeVersion)]];
  if (base === null || max === undefined) return null;
  const rate = base + volatilityRate(pool);
  return rate < max ? rate : max;
}

function baseRate(pool: DammPool, of: RatedAmount): bigint | null {
  const { view } = pool;
  const mode = view.getUint8(at.baseFeeMode);
  if (mode === rateLimiter) return limitedBase(view, of);
  const [cliff, periods] = [view.getBigUint64(at.cliff, true), BigInt(view.getUint16(at.baseFeeFirst, true))];
  const reduction = view.getBigUint64(at.baseFeeFourth, true);
  if (mode === linearTime || mode === exponentialTime) {
    const frequency = view.getBigUint64(at.baseFeeSecond, true);
    return scheduledRate({ kind: mode === linearTime ? 'linear' : 'exponential', cliff, periods, frequency, reduction }, of.passed);
  }
  if (mode !== linearPrice && mode !== exponentialPrice) return null;
  const period = of.passed > BigInt(view.getUint32(at.baseFeeThird, true)) ? periods : priceSteps(pool);
  if (period === null) return null;
  return scheduledRate({ kind: mode === linearPrice ? 'linear' : 'exponential', cliff, periods, frequency: 1n, reduction }, period);
}

/** How many steps the square root of the price has risen since the pool opened. */
function priceSteps({ view, sqrtPrice }: DammPool): bigint | null {
  const [first, step] = [u128At(view, at.initSqrtPrice), BigInt(view.getUint32(at.baseFeeSecond, true))];
  if (sqrtPrice <= first) return 0n;
  return first === 0n || step === 0n ? null : ((sqrtPrice - first) * basisPoints) / first / step;
}

/** It limits purchases with B, for a time. */
function limitedBase(view: DataView, { amount, isGross, paysB, passed }: RatedAmount): bigint | null {
  const cliff = view.getBigUint64(at.cliff, true);
  const [duration, maxBps] = [BigInt(view.getUint32(at.baseFeeSecond, true)), BigInt(view.getUint32(at.baseFeeThird, true))];
  const [incrementBps, reference] = [BigInt(view.getUint16(at.baseFeeFirst, true)), view.getBigUint64(at.baseFeeFourth, true)];
  const isOff = reference === 0n && duration === 0n && maxBps === 0n && incrementBps === 0n;
  if (isOff || !paysB || passed > duration) return cliff;
  const limiter = { cliff, increment: rateOfBps(incrementBps), reference, max: rateOfBps(maxBps) };
  if (reference === 0n || incrementBps === 0n || limiter.max < cliff) return null;
  return isGross ? limitedRate(limiter, amount) : limitedRateOfNet(limiter, amount);
}

/** Whether a swap needs the sysvar with all instructions: a limiter counts the swaps of a transaction. */
export function hasRateLimiter({ view }: DammPool): boolean {
  return view.getUint8(at.baseFeeMode) === rateLimiter;
}

function volatilityRate({ view }: DammPool): bigint {
  const from = at.dynamicFee;
  if (view.getUint8(from + dynamicFee.isEnabled) === 0) return 0n;
  const [control, binStep] = [view.getUint32(from + dynamicFee.control, true), view.getUint16(from + dynamicFee.binStep, true)];
  return variableRate(BigInt(binStep), BigInt(control), u128At(view, from + dynamicFee.accumulator));
}

/** The protocol's part of a fee. The rest is the liquidity providers'. */
export function protocolPart({ view }: DammPool, fee: bigint): bigint {
  return (fee * BigInt(view.getUint8(at.protocolPercent))) / 100n;
}
