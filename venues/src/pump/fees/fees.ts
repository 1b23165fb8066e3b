import type { BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import type { Fee, FeePart } from '../../seam/venue.ts';

/** Fees as in the events of both pump programs. */
export const noFee: FeePart = { amount: 0n, bps: 0 };

/** In all layouts, `bps` precedes the amount of a fee. */
export function readFee(reader: BorshReader): FeePart {
  const bps = reader.u64Number();
  const amount = reader.u64();
  return amount === 0n && bps === 0 ? noFee : { amount, bps };
}

/** A fee after fields that are not used; `noFee` if the event's layout does not have it. */
export function laterFee(reader: BorshReader, unusedBytes = 0): FeePart {
  if (!reader.has(unusedBytes + 16)) return noFee;
  reader.skip(unusedBytes);
  return readFee(reader);
}

/** The creator fee of a holder-reward coin goes to the holders: the event repeats the amount as `holder_rewards`, but it is charged once. */
export function creatorPart(creatorFee: FeePart, holderRewards: FeePart): FeePart {
  if (holderRewards.amount === 0n) return creatorFee;
  if (holderRewards.amount >= creatorFee.amount) return noFee;
  return { amount: creatorFee.amount - holderRewards.amount, bps: Math.max(0, creatorFee.bps - holderRewards.bps) };
}

/** A trade's fees by kind; all in the quote coin. */
type PumpFees = Readonly<Record<'protocol' | 'creator' | 'lp' | 'cashback' | 'holderRewards', FeePart>>;

/** The fees that were charged, as a list. */
export function feeList({ protocol, creator, lp, cashback, holderRewards }: PumpFees): Fee[] {
  const fees: Fee[] = [];
  if (protocol !== noFee) fees.push({ kind: 'protocol', amount: protocol.amount, bps: protocol.bps, coin: 'quote' });
  if (creator !== noFee) fees.push({ kind: 'creator', amount: creator.amount, bps: creator.bps, coin: 'quote' });
  if (lp !== noFee) fees.push({ kind: 'lp', amount: lp.amount, bps: lp.bps, coin: 'quote' });
  if (cashback !== noFee) fees.push({ kind: 'cashback', amount: cashback.amount, bps: cashback.bps, coin: 'quote' });
  if (holderRewards !== noFee) fees.push({ kind: 'holderRewards', amount: holderRewards.amount, bps: holderRewards.bps, coin: 'quote' });
  return fees;
}

/** Names of the traits that the flags of both programs show. */
export function traitsOf(coin: { readonly mayhemMode: boolean; readonly cashback: boolean; readonly holderReward: boolean }): string[] {
  const traits: string[] = [];
  if (coin.mayhemMode) traits.push('mayhemMode');
  if (coin.cashback) traits.push('cashback');
  if (coin.holderReward) traits.push('holderReward');
  return traits;
}

/** Bytes of a trader's volume accumulator. */
export const volumeAccumulatorBytes = 137;
