import type { Fee } from '../seam/venue.ts';

const basisPoints = 10_000n;

/** A fee of an event that contains no rates. The rate is the fee's share of the amount that it is taken from, rounded. */
export function chargedFee(kind: Fee['kind'], amount: bigint, of: bigint, coin: Fee['coin']): Fee {
  return { kind, amount, bps: of === 0n ? 0 : Number((amount * basisPoints + of / 2n) / of), coin };
}
