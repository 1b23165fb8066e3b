import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, isZeroKey, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { pair as at, pairLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The fields of a pair's account that prices and quotes need. X is the base. */
export interface DlmmPair {
  readonly mintX: string;
  readonly mintY: string;
  readonly reserveX: string;
  readonly reserveY: string;
  /** Basis points between the prices of two bins. */
  readonly binStep: number;
  readonly activeId: number;
  readonly fees: FeeSettings;
  /** The state of the variable fee. */
  readonly volatility: Volatility;
  /** It trades only from this point on: a slot, or Unix seconds. Null if it always trades. */
  readonly opens: { readonly bySlot: boolean; readonly point: bigint } | null;
  readonly isEnabled: boolean;
  /** Limit orders may wait in its bins. */
  readonly hasOrders: boolean;
  /** 1,024 bits: which of the bin arrays around bin 0 have liquidity. */
  readonly bitmap: Uint8Array;
}

export interface FeeSettings {
  /** Billionths of the amount. */
  readonly baseRate: bigint;
  readonly variableControl: bigint;
  /** Seconds in which swaps count as one movement, and after which the volatility is forgotten. */
  readonly filterPeriodS: number;
  readonly decayPeriodS: number;
  /** Basis points of the volatility that are left after the filter period. */
  readonly reductionFactor: number;
  readonly maxVolatility: number;
  /** Basis points of the fee. */
  readonly protocolShare: bigint;
  /** 0: from the coin that comes in. 1: always from Y. Others are not known. */
  readonly mode: number;
}

export interface Volatility {
  readonly accumulator: number;
  readonly reference: number;
  /** The active bin when the movement began. */
  readonly indexReference: number;
  readonly updatedAtS: bigint;
}

/** Pair types that open at a set point, and functions of pairs. */
const [permission, customizable] = [1, 2];
const [undetermined, limitOrders] = [0, 2];
/** A base fee with a larger power of ten is above every limit. */
const maxPower = 20;

/** Reads a pair's account; null if the bytes are not one. Never throws. */
export function decodePair(data: Uint8Array): DlmmPair | null {
  if (data.length < pairLength || !hasPrefix(data, accountDiscriminators.pair)) return null;
  const view = viewOf(data);
  const key = (from: number): string => encodeBase58(data, from, 32);
  const u16 = (from: number): number => view.getUint16(from, true);
  const u32 = (from: number): number => view.getUint32(from, true);
  const i32 = (from: number): number => view.getInt32(from, true);
  const type = data[at.pairType]!;
  const binStep = u16(at.binStep);
  const power = Math.min(data[at.baseFeePower]!, maxPower);
  const use = data[at.functionType]!;
  return {
    mintX: key(at.mintX),
    mintY: key(at.mintY),
    reserveX: key(at.reserveX),
    reserveY: key(at.reserveY),
    binStep,
    activeId: i32(at.activeId),
    fees: {
      baseRate: BigInt(u16(at.baseFactor)) * BigInt(binStep) * 10n ** BigInt(power + 1),
      variableControl: BigInt(u32(at.variableFeeControl)),
      filterPeriodS: u16(at.filterPeriod),
      decayPeriodS: u16(at.decayPeriod),
      reductionFactor: u16(at.reductionFactor),
      maxVolatility: u32(at.maxVolatility),
      protocolShare: BigInt(u16(at.protocolShare)),
      mode: data[at.collectFeeMode]!,
    },
    volatility: {
      accumulator: u32(at.volatility),
      reference: u32(at.volatilityReference),
      indexReference: i32(at.indexReference),
      updatedAtS: view.getBigInt64(at.updatedAt, true),
    },
    opens:
      type === permission || type === customizable
        ? { bySlot: data[at.activationType] === 0, point: view.getBigUint64(at.activationPoint, true) }
        : null,
    isEnabled: data[at.status] === 0,
    hasOrders: use === limitOrders || (use === undetermined && at.rewardMints.every((mint) => isZeroKey(data, mint))),
    bitmap: data.slice(at.bitmap, at.bitmap + 128),
  };
}
