import type { FeeKind } from '@sluice/shared/wire/venues.ts';
import type { DecodeOutcome, Fee, FeePart, Venue, VenueEvent } from '@sluice/venues/seam/venue.ts';

/** Decodes the bytes of one event alone, without its transaction. */
export function decodeData(venue: Venue, data: Uint8Array): { readonly outcome: DecodeOutcome; readonly events: readonly VenueEvent[] } {
  const events: VenueEvent[] = [];
  const alone = { record: 'event', data, text: null, instruction: () => null, feePayer: null, tokenBalances: null } as const;
  const outcome = venue.decode(alone, (event) => events.push(event));
  return { outcome, events };
}

/** The fee of one kind; zero if none was charged. */
export function feeOfKind(fees: readonly Fee[], kind: FeeKind): FeePart {
  return fees.find((fee) => fee.kind === kind) ?? { amount: 0n, bps: 0 };
}
