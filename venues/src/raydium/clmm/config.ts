import { hasPrefix, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { rateDenominator, type TierRates } from '../../kit/fee-tier.ts';
import { malformed } from '../../kit/decode.ts';
import type { DecodedConstants, ReadAccount } from '../../seam/venue.ts';
import { config, configLength } from './layout.ts';
import { decodePool } from './pool.ts';
import { accountDiscriminators } from './program.ts';

/** Reads a fee tier; null if the bytes are not one, or no trade could pay its rates. Never throws. */
export function decodeConfig(data: Uint8Array): TierRates | null {
  if (data.length < configLength || !hasPrefix(data, accountDiscriminators.config)) return null;
  const view = viewOf(data);
  const rate = (at: number): bigint => BigInt(view.getUint32(at, true));
  const rates = { trade: rate(config.tradeFeeRate), protocol: rate(config.protocolFeeRate), fund: rate(config.fundFeeRate) };
  return rates.trade < rateDenominator && rates.protocol + rates.fund <= rateDenominator ? rates : null;
}

/** The rates of a fee tier, or of the fee tier of a pool. */
export function constantsOf(data: Uint8Array, read: ReadAccount): DecodedConstants {
  const pool = decodePool(data);
  const tier = pool === null ? data : read(pool.config);
  if (tier === null) return { kind: 'more', addresses: [pool!.config] };
  const constants = decodeConfig(tier);
  return constants === null ? malformed('not a fee tier') : { kind: 'decoded', constants };
}
