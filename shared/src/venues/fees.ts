import type { BorshReader } from '../solana/bytes.ts';
import type { FeePart } from './venue.ts';

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
