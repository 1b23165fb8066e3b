import { viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { feeDenominator, rateOfBps, scheduledRate, variableRate } from '../fees/fee-rates.ts';
import { limitedRate, limitedRateOfNet } from '../fees/rate-limiter.ts';
import type { DbcPool } from './decode.ts';
import { config as at } from './layout.ts';

/** The highest rate of a swap: 99 %. */
const maxRate = (feeDenominator * 99n) / 100n;

const baseFeeModes = { linear: 0, exponential: 1, rateLimiter: 2 } as const;

export interface RatedAmount {
  readonly isBuy: boolean;
  readonly amount: bigint;
  /** The amount contains the fee. */
  readonly isGross: boolean;
  /** Slots or seconds since the pool was opened. */
  readonly passed: bigint;
}

/** The base fee of a config. Its factors mean something else in each mode. Null if the rate cannot be computed. */
function baseRate(config: Uint8Array, { isBuy, amount, isGross, passed }: RatedAmount): bigint | null {
  const view = viewOf(config);
  const [cliff, second, third] = [at.cliff, at.secondFactor, at.thirdFactor].map((from) => view.getBigUint64(from, true)) as [
    bigint,
    bigint,
    bigint,
  ];
  const first = BigInt(view.getUint16(at.firstFactor, true));
  const mode = config[at.baseFeeMode];
  if (mode === baseFeeModes.rateLimiter) {
    const increment = rateOfBps(first);
    if (!isBuy || passed > second || first + second + third === 0n) return cliff;
    if (increment === 0n || third === 0n || cliff > maxRate) return null;
    const limiter = { cliff, increment, reference: third, max: maxRate };
    return isGross ? limitedRate(limiter, amount) : limitedRateOfNet(limiter, amount);
  }
  if (mode !== baseFeeModes.linear && mode !== baseFeeModes.exponential) return null;
  const kind = mode === baseFeeModes.linear ? 'linear' : 'exponential';
  return scheduledRate({ kind, cliff, periods: first, frequency: second, reduction: third }, passed);
}

/** The rate of a swap: the base fee, and what the volatility before the swap adds. */
export function rateOf(config: Uint8Array, { volatility }: DbcPool, rated: RatedAmount): bigint | null {
  const base = baseRate(config, rated);
  if (base === null) return null;
  const view = viewOf(config);
  const [binStep, control] = [BigInt(view.getUint16(at.binStep, true)), BigInt(view.getUint32(at.variableFeeControl, true))];
  const rate = base + (config[at.hasDynamicFee] === 0 ? 0n : variableRate(binStep, control, volatility));
  return rate < maxRate ? rate : maxRate;
}

/** Whether a purchase must show that it is the only swap of its transaction. */
export function limitsPurchases(config: Uint8Array): boolean {
  return config[at.baseFeeMode] === baseFeeModes.rateLimiter;
}

/** The program's share of a fee, in percent, rounded down. */
const protocolShare = 20n;

export function protocolPart(fee: bigint): bigint {
  return (fee * protocolShare) / 100n;
}
