import { hasPrefix, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { globalConfig, globalConfigMinLength, platformConfig, platformConfigMinLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The settings of all curves with one quote coin (`GlobalConfig`). */
export interface GlobalConfig {
  /** 0: constant product, 1: fixed price, 2: linear price. */
  readonly curveType: number;
  /** Millionths of the quote coins of a trade. */
  readonly protocol: bigint;
}

/** The fees of a launch platform (`PlatformConfig`), in millionths. */
export interface PlatformFees {
  readonly platform: bigint;
  readonly creator: bigint;
}

/** Null if the bytes are not the account. Never throws. */
export function decodeGlobalConfig(data: Uint8Array): GlobalConfig | null {
  if (data.length < globalConfigMinLength || !hasPrefix(data, accountDiscriminators.globalConfig)) return null;
  const view = viewOf(data);
  return { curveType: data[globalConfig.curveType]!, protocol: view.getBigUint64(globalConfig.tradeFeeRate, true) };
}

/** Null if the bytes are not the account. Never throws. */
export function decodePlatformConfig(data: Uint8Array): PlatformFees | null {
  if (data.length < platformConfigMinLength || !hasPrefix(data, accountDiscriminators.platformConfig)) return null;
  const view = viewOf(data);
  return { platform: view.getBigUint64(platformConfig.feeRate, true), creator: view.getBigUint64(platformConfig.creatorFeeRate, true) };
}
