import { hasPrefix } from '@sluice/shared/solana/bytes.ts';
import { stateOfReserves } from '../kit/constant-product.ts';
import { malformed } from '../outcome.ts';
import type { DecodedConstants, Fee, PoolReserves, VenueTrade } from '../venue.ts';
import { config, configLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** Rates are millionths. */
export const rateDenominator = 1_000_000n;
const perBps = rateDenominator / 10_000n;

/** The rates of a fee tier (`AmmConfig`). */
export type CpmmRates = {
  /** Of the input. */
  readonly trade: bigint;
  /** Parts of the trade fee. */
  readonly protocol: bigint;
  readonly fund: bigint;
  /** Of the input or the output, as the pool decides; only for pools that have a creator's fee. */
  readonly creator: bigint;
};

/** Reads a fee tier; null if the bytes are not one, or no trade could pay its rates. Never throws. */
export function decodeConfig(data: Uint8Array): CpmmRates | null {
  if (data.length < configLength || !hasPrefix(data, accountDiscriminators.config)) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
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

/** The parts of the trade fee, each rounded as the program rounds. What the protocol and the fund do not get stays in the pool. */
export function splitTradeFee(
  fee: bigint,
  { protocol, fund }: CpmmRates,
): { readonly lp: bigint; readonly protocol: bigint; readonly fund: bigint } {
  const [ofProtocol, ofFund] = [(fee * protocol) / rateDenominator, (fee * fund) / rateDenominator];
  return { lp: fee - ofProtocol - ofFund, protocol: ofProtocol, fund: ofFund };
}

/** The rates of the parts in basis points of the input, rounded. */
export function bpsOf({ trade, protocol, fund, creator }: CpmmRates): Readonly<Record<'lp' | 'protocol' | 'fund' | 'creator', number>> {
  const bps = (rate: bigint, of = rateDenominator): number => Math.round(Number(rate * of) / Number(rateDenominator * perBps));
  return {
    lp: bps(trade, rateDenominator - protocol - fund),
    protocol: bps(trade, protocol),
    fund: bps(trade, fund),
    creator: bps(creator),
  };
}

export function constantsOf(data: Uint8Array): DecodedConstants {
  const constants = decodeConfig(data);
  return constants === null ? malformed('not a fee tier') : { kind: 'decoded', constants };
}

/** Splits the trade fee of a trade, which its event shows as a whole, and adds the part that stays in the pool to the reserves. */
export function withParts(trade: VenueTrade & { readonly reserves: PoolReserves }, rates: CpmmRates): VenueTrade {
  const { reserves } = trade;
  const fees = trade.fees.flatMap((fee): readonly Fee[] => {
    if (fee.kind !== 'lp') return [fee];
    const parts = splitTradeFee(fee.amount, rates);
    return (['lp', 'protocol', 'fund'] as const)
      .filter((kind) => parts[kind] > 0n)
      .map((kind) => ({ kind, amount: parts[kind], bps: bpsOf(rates)[kind], coin: fee.coin }));
  });
  const stays = (coin: Fee['coin']): bigint => fees.find((fee) => fee.kind === 'lp' && fee.coin === coin)?.amount ?? 0n;
  return { ...trade, ...stateOfReserves(sameReserves(reserves.virtualBase + stays('base'), reserves.virtualQuote + stays('quote'))), fees };
}
