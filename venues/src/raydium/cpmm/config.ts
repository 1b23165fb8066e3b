import { hasPrefix, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import { feesInParts, rateDenominator, type TierRates } from '../../kit/fee-tier.ts';
import { malformed } from '../../kit/decode.ts';
import type { AccountConstants, DecodedConstants, Fee, VenueTrade } from '../../seam/venue.ts';
import { config, configLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The rates of a fee tier (`AmmConfig`). */
export type CpmmRates = TierRates & {
  /** Of the input or the output, as the pool decides; only for pools that have a creator's fee. */
  readonly creator: bigint;
};

/** Reads a fee tier; null if the bytes are not one, or no trade could pay its rates. Never throws. */
export function decodeConfig(data: Uint8Array): CpmmRates | null {
  if (data.length < configLength || !hasPrefix(data, accountDiscriminators.config)) return null;
  const view = viewOf(data);
  const rate = (at: number): bigint => view.getBigUint64(at, true);
  const rates = {
    trade: rate(config.tradeFeeRate),
    protocol: rate(config.protocolFeeRate),
    fund: rate(config.fundFeeRate),
    creator: rate(config.creatorFeeRate),
  };
  const isSound = rates.trade + rates.creator < rateDenominator && rates.protocol + rates.fund <= rateDenominator;
  return isSound ? rates : null;
}

export function constantsOf(data: Uint8Array): DecodedConstants {
  const constants = decodeConfig(data);
  return constants === null ? malformed('not a fee tier') : { kind: 'decoded', constants };
}

/** Splits the trade fee of a trade, and adds the part that stays in the pool to the reserves. */
export function completeTrade(trade: VenueTrade, constants: AccountConstants): VenueTrade {
  const fees = feesInParts(trade.fees, constants as CpmmRates);
  const { virtualBase, virtualQuote } = trade.reserves!;
  const stays = (coin: Fee['coin']): bigint => fees.find((fee) => fee.kind === 'lp' && fee.coin === coin)?.amount ?? 0n;
  return { ...trade, ...stateOfReserves(sameReserves(virtualBase + stays('base'), virtualQuote + stays('quote'))), fees };
}
