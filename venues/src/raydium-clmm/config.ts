import { hasPrefix } from '@sluice/shared/solana/bytes.ts';
import type { Fee, VenueTrade } from '../venue.ts';
import { config, configLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** Rates are millionths. */
export const rateDenominator = 1_000_000n;

/** The rates of a fee tier (`AmmConfig`). */
export interface ClmmRates {
  readonly trade: bigint;
  /** Parts of the trade fee. */
  readonly protocol: bigint;
  readonly fund: bigint;
}

/** Reads a fee tier; null if the bytes are not one, or no trade could pay its rates. Never throws. */
export function decodeConfig(data: Uint8Array): ClmmRates | null {
  if (data.length < configLength || !hasPrefix(data, accountDiscriminators.config)) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const rate = (at: number): bigint => BigInt(view.getUint32(at, true));
  const rates = { trade: rate(config.tradeFeeRate), protocol: rate(config.protocolFeeRate), fund: rate(config.fundFeeRate) };
  return rates.trade < rateDenominator && rates.protocol + rates.fund <= rateDenominator ? rates : null;
}

/** The parts of a fee, and the rates of the parts if the whole has this rate. What the protocol and the fund do not get is the liquidity providers'. */
function partsOf(amount: bigint, bps: number, { protocol, fund }: ClmmRates, coin: Fee['coin']): readonly Fee[] {
  const [ofProtocol, ofFund] = [(amount * protocol) / rateDenominator, (amount * fund) / rateDenominator];
  const share = (rate: bigint): number => Math.round((bps * Number(rate)) / Number(rateDenominator));
  const parts: readonly Fee[] = [
    { kind: 'lp', amount: amount - ofProtocol - ofFund, bps: share(rateDenominator - protocol - fund), coin },
    { kind: 'protocol', amount: ofProtocol, bps: share(protocol), coin },
    { kind: 'fund', amount: ofFund, bps: share(fund), coin },
  ];
  return parts.filter((part) => part.amount > 0n);
}

/** Splits the trade fee of a decoded trade, which its event shows as a whole. Null if the bytes are not a fee tier. */
export function completeTrade(trade: VenueTrade, data: Uint8Array): VenueTrade | null {
  const rates = decodeConfig(data);
  if (rates === null) return null;
  const { needs: _, fees, ...rest } = trade;
  return { ...rest, fees: fees.flatMap((fee) => (fee.kind === 'lp' ? partsOf(fee.amount, fee.bps, rates, fee.coin) : [fee])) };
}
