import type { MintLookup, QuoteMoment } from '@sluice/venues/seam/quoting.ts';

/** For pools whose quotes do not depend on time. */
export const atAnyTime: QuoteMoment = { slot: 1, unixTimeS: 1_791_500_000 };
/** For pools whose quotes do not depend on the other coin. */
export const noMints: MintLookup = () => null;
