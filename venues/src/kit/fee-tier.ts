import type { Fee } from '../seam/venue.ts';

/** Rates of fee tiers are millionths. */
export const rateDenominator = 1_000_000n;

/** The rates of a trade fee, and of the parts of it that leave the pool. */
export type TierRates = {
  /** Of the amount that is traded. */
  readonly trade: bigint;
  /** Parts of the trade fee. */
  readonly protocol: bigint;
  readonly fund: bigint;
};

export type TierParts = Readonly<Record<'lp' | 'protocol' | 'fund', bigint>>;

/** The parts of a trade fee, each rounded as the programs round. What the protocol and the fund do not get is the liquidity providers'. */
export function splitTradeFee(fee: bigint, { protocol, fund }: TierRates): TierParts {
  const [ofProtocol, ofFund] = [(fee * protocol) / rateDenominator, (fee * fund) / rateDenominator];
  return { lp: fee - ofProtocol - ofFund, protocol: ofProtocol, fund: ofFund };
}

/** A trade fee in parts. The whole has the rate `bps`. */
export function tierFees(parts: TierParts, rates: TierRates, coin: Fee['coin'], bps = Number(rates.trade) / 100): readonly Fee[] {
  const shares = { lp: rateDenominator - rates.protocol - rates.fund, protocol: rates.protocol, fund: rates.fund };
  return (['lp', 'protocol', 'fund'] as const)
    .filter((kind) => parts[kind] > 0n)
    .map((kind) => ({ kind, amount: parts[kind], bps: Math.round((bps * Number(shares[kind])) / Number(rateDenominator)), coin }));
}

/** The fees of a trade with the parts of its trade fee, which events show as a whole, of the kind `lp`. */
export function feesInParts(fees: readonly Fee[], rates: TierRates): readonly Fee[] {
  return fees.flatMap((fee) => (fee.kind === 'lp' ? tierFees(splitTradeFee(fee.amount, rates), rates, fee.coin, fee.bps) : [fee]));
}
