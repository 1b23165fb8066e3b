import type { AccountsRead } from '../../chain/account-reader.ts';

/** Reads in a row until two endpoints, which are not always at the same slot, tell the same; and the time between them. */
export const maxAgreeing = 6;
export const agreeingPauseMs = 40;

/** Of a read: the endpoint, as a bit by its number, that alone told it; 0 where two did, or there is but one. */
export function soleSourceOf({ aloneBy }: AccountsRead, endpoints: number): number {
  return aloneBy === null || endpoints === 1 ? 0 : 1 << aloneBy;
}
