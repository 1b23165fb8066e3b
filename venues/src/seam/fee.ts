import type { FeeKind } from '@sluice/shared/wire/venues.ts';
import type { Fee, FeePart } from './venue.ts';

const noFee: FeePart = Object.freeze({ amount: 0n, bps: 0 });

/** The fee of one kind; zero if none was charged. A venue charges each kind at most once. */
export function feeOfKind(fees: readonly Fee[], kind: FeeKind): FeePart {
  for (const fee of fees) if (fee.kind === kind) return fee;
  return noFee;
}

/** The sum of the fees that were charged in one coin of the pair. */
export function feesIn(side: Fee['coin'], fees: readonly Fee[]): bigint {
  return fees.reduce((sum, { coin, amount }) => (coin === side ? sum + amount : sum), 0n);
}

/** A fee as clients get it: `amount` in raw units of the coin `mint`. */
export interface ChargedFee {
  kind: FeeKind;
  amount: string;
  bps: number;
  mint: string;
}

/** The fees as clients get them. */
export function chargedFees(fees: readonly Fee[], base: string, quote: string): ChargedFee[] {
  return fees.map(({ kind, amount, bps, coin }) => ({ kind, amount: amount.toString(), bps, mint: coin === 'base' ? base : quote }));
}
