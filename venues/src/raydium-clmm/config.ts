import { hasPrefix } from '@sluice/shared/solana/bytes.ts';
import { malformed } from '../outcome.ts';
import type { DecodedConstants, Fee, ReadAccount, VenueTrade } from '../venue.ts';
import { config, configLength } from './layout.ts';
import { decodePool } from './pool.ts';
import { accountDiscriminators } from './program.ts';

/** Rates are millionths. */
export const rateDenominator = 1_000_000n;

/** The rates of a fee tier (`AmmConfig`). */
export type ClmmRates = {
  readonly trade: bigint;
  /** Parts of the trade fee. */
  readonly protocol: bigint;
  readonly fund: bigint;
};

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

/** Splits the trade fee of a trade, which its event shows as a whole. */
export function withParts(trade: VenueTrade, rates: ClmmRates): VenueTrade {
  return { ...trade, fees: trade.fees.flatMap((fee) => (fee.kind === 'lp' ? partsOf(fee.amount, fee.bps, rates, fee.coin) : [fee])) };
}

/** The rates of a fee tier, or of the fee tier of a pool. */
export function constantsOf(data: Uint8Array, read: ReadAccount): DecodedConstants {
  const pool = decodePool(data);
  const tier = pool === null ? data : read(pool.config);
  if (pool !== null && tier === null) return { kind: 'more', addresses: [pool.config] };
  const constants = decodeConfig(tier!);
  return constants === null ? malformed('not a fee tier') : { kind: 'decoded', constants };
}
