import type { BorshReader } from '../solana/bytes.ts';
import { shareOf } from './fee-math.ts';
import type { FeePart, TradeFees } from './venue.ts';

/** Fees as the events of both pump programs have them. */
export const noFee: FeePart = { amount: 0n, bps: 0 };

/** `bps` stands before the amount in every fee of the layouts. */
export function readFee(reader: BorshReader): FeePart {
  const bps = reader.u64Number();
  const amount = reader.u64();
  return amount === 0n && bps === 0 ? noFee : { amount, bps };
}

/**
 * The creator fee of a holder-reward coin goes to the holders: the event repeats the same amount as `holder_rewards`, it is
 * not charged twice. What is left to the creator is the difference.
 */
export function creatorPart(creatorFee: FeePart, holderRewards: FeePart): FeePart {
  if (holderRewards.amount === 0n) return creatorFee;
  if (holderRewards.amount >= creatorFee.amount) return noFee;
  return { amount: creatorFee.amount - holderRewards.amount, bps: Math.max(0, creatorFee.bps - holderRewards.bps) };
}

/** Amounts of the fees of a trade, with their rates in basis points. */
export interface ChargedFees {
  readonly protocol: bigint;
  readonly creator: bigint;
  readonly lp: bigint;
  readonly rates: { readonly protocol: bigint; readonly creator: bigint; readonly lp: bigint };
}

/**
 * Fees as trades of this coin name them: the creator's part is cashback for the trader, or goes to the holders, where the coin is
 * of that kind. The buyback is a share of the protocol fee.
 */
export function feesOfCoin(
  { protocol, creator, lp, rates }: ChargedFees,
  coin: { readonly cashback: boolean; readonly holderReward: boolean },
  buybackBps: bigint,
): { readonly fees: TradeFees; readonly buyback: FeePart } {
  const creatorFee: FeePart = { amount: creator, bps: Number(rates.creator) };
  const fees: TradeFees = {
    protocol: { amount: protocol, bps: Number(rates.protocol) },
    creator: coin.cashback || coin.holderReward ? noFee : creatorFee,
    lp: { amount: lp, bps: Number(rates.lp) },
    cashback: coin.cashback ? creatorFee : noFee,
    holderRewards: coin.holderReward && !coin.cashback ? creatorFee : noFee,
    total: protocol + creator + lp,
  };
  return { fees, buyback: { amount: shareOf(protocol, buybackBps), bps: Number(buybackBps) } };
}
