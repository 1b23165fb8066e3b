import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, u128At, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { dynamicFeeLength, pool as poolAt, poolLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The fields of a pool's account that prices and quotes need. Coin 0 is the base. */
export interface ClmmPool {
  readonly config: string;
  readonly mint0: string;
  readonly mint1: string;
  readonly vault0: string;
  readonly vault1: string;
  readonly tickSpacing: number;
  readonly liquidity: bigint;
  /** Square root of raw coin 1 per raw coin 0, times 2^64. */
  readonly sqrtPriceX64: bigint;
  readonly tick: number;
  readonly status: number;
  /** The coin in which the fee is charged: 0 the one that comes in, 1 coin 0, 2 coin 1. */
  readonly feeOn: number;
  /** The fee rate changes with the trades and the time. */
  readonly dynamicFee: boolean;
  /** Unix seconds after which the pool trades. */
  readonly openTimeS: bigint;
  /** 1,024 bits: which of the tick arrays around tick 0 have ticks. */
  readonly bitmap: Uint8Array;
}

/** Reads a pool's account; null if the bytes are not one. Never throws. */
export function decodePool(data: Uint8Array): ClmmPool | null {
  if (data.length < poolLength || !hasPrefix(data, accountDiscriminators.pool)) return null;
  const view = viewOf(data);
  const key = (at: number): string => encodeBase58(data, at, 32);
  return {
    config: key(poolAt.config),
    mint0: key(poolAt.mint0),
    mint1: key(poolAt.mint1),
    vault0: key(poolAt.vault0),
    vault1: key(poolAt.vault1),
    tickSpacing: view.getUint16(poolAt.tickSpacing, true),
    liquidity: u128At(view, poolAt.liquidity),
    sqrtPriceX64: u128At(view, poolAt.sqrtPrice),
    tick: view.getInt32(poolAt.tick, true),
    status: data[poolAt.status]!,
    feeOn: data[poolAt.feeOn]!,
    dynamicFee: data.subarray(poolAt.dynamicFee, poolAt.dynamicFee + dynamicFeeLength).some((byte) => byte !== 0),
    openTimeS: view.getBigUint64(poolAt.openTime, true),
    bitmap: data.slice(poolAt.bitmap, poolAt.bitmap + 128),
  };
}
