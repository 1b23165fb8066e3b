import type { FeeKind } from '@sluice/shared/wire/venues.ts';
import type { Fee } from './venue.ts';

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
