import { hasPrefix } from '@sluice/shared/solana/bytes.ts';
import type { Fee, PoolReserves, VenueTrade } from '../venue.ts';
import { stateOfReserves } from '../kit/constant-product.ts';
import { config, configLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** Rates are millionths. */
export const rateDenominator = 1_000_000n;
const perBps = rateDenominator / 10_000n;

/** The rates of a fee tier (`AmmConfig`). */
export interface CpmmRates {
  /** Of the input. */
  readonly trade: bigint;
  /** Parts of the trade fee. */
  readonly protocol: bigint;
  readonly fund: bigint;
  /** Of the input or the output, as the pool decides; only for pools that have a creator's fee. */
  readonly creator: bigint;
}

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

/**
 * Splits the trade fee of a decoded trade, which its event shows as a whole, and adds the part that stays in the pool to the reserves. Null if the
 * bytes are not a fee tier.
 */
export function completeTrade(trade: VenueTrade, data: Uint8Array): VenueTrade | null {
  const rates = decodeConfig(data);
  const { reserves, fees } = trade;
  const whole = fees.find(({ kind }) => kind === 'lp');
  if (rates === null || reserves === null || whole === undefined) return null;
  const parts = splitTradeFee(whole.amount, rates);
  const split = (['lp', 'protocol', 'fund'] as const)
    .filter((kind) => parts[kind] > 0n)
    .map((kind): Fee => ({ kind, amount: parts[kind], bps: bpsOf(rates)[kind], coin: whole.coin }));
  const after: PoolReserves =
    whole.coin === 'base'
      ? { ...reserves, virtualBase: reserves.virtualBase + parts.lp, realBase: reserves.realBase + parts.lp }
      : { ...reserves, virtualQuote: reserves.virtualQuote + parts.lp, realQuote: reserves.realQuote + parts.lp };
  const { needs: _, ...rest } = trade;
  return { ...rest, ...stateOfReserves(after), fees: [...split, ...fees.filter((fee) => fee !== whole)] };
}
