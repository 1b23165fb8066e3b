import type { BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { shareOf } from './fee-math.ts';
import type { Fee, FeePart } from '../../seam/venue.ts';

/** Fees as in the events of both pump programs. */
export const noFee: FeePart = { amount: 0n, bps: 0 };

/** In all layouts, `bps` precedes the amount of a fee. */
export function readFee(reader: BorshReader): FeePart {
  const bps = reader.u64Number();
  const amount = reader.u64();
  return amount === 0n && bps === 0 ? noFee : { amount, bps };
}

/**
 * The creator fee of a holder-reward coin goes to the holders. The event repeats the same amount as `holder_rewards`, but it is charged
 * once. The creator receives the difference.
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

/** A trade's fees by kind; all in the quote coin. */
export interface PumpFees {
  readonly protocol: FeePart;
  readonly creator: FeePart;
  readonly lp: FeePart;
  readonly cashback: FeePart;
  readonly holderRewards: FeePart;
}

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

/** A fee in a quote; `noFee` if both amount and rate are zero. */
function part(amount: bigint, rate: bigint): FeePart {
  return amount === 0n && rate === 0n ? noFee : { amount, bps: Number(rate) };
}

/**
 * Fees in the form in which trades of this coin show them. The creator's part is cashback for the trader, or goes to the holders, if the
 * coin is of that kind. The buyback is a share of the protocol fee, so it is not in the list.
 */
export function feesOfCoin(
  { protocol, creator, lp, rates }: ChargedFees,
  coin: { readonly cashback: boolean; readonly holderReward: boolean },
  buybackBps: bigint,
): { readonly fees: readonly Fee[]; readonly feeTotal: bigint; readonly buyback: FeePart } {
  const creatorFee = part(creator, rates.creator);
  const fees = feeList({
    protocol: part(protocol, rates.protocol),
    creator: coin.cashback || coin.holderReward ? noFee : creatorFee,
    lp: part(lp, rates.lp),
    cashback: coin.cashback ? creatorFee : noFee,
    holderRewards: coin.holderReward && !coin.cashback ? creatorFee : noFee,
  });
  const buyback = { amount: shareOf(protocol, buybackBps), bps: Number(buybackBps) };
  return { fees, feeTotal: protocol + creator + lp, buyback };
}

/** Bytes of a trader's volume accumulator. */
export const volumeAccumulatorBytes = 137;
