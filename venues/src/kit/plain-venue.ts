import type { Venue } from '../seam/venue.ts';

/** The parts that are the same in all programs that log their swaps, have no curves, and whose pools are not found by the mint. */
export const plainVenue = {
  records: { logged: true, eventAuthority: null, instructions: [], textPrefix: null },
  /** The event of a swap names no trader. */
  needsTransaction: true,
  /** Only swaps change the price, and an event shows each of them. */
  watchedAccountPrefixes: [],
  derivedPools: () => [],
  curves: null,
  signing: null,
} satisfies Partial<Venue>;
