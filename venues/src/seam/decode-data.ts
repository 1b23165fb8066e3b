import type { DecodeContext, DecodeOutcome, Venue, VenueEvent } from './venue.ts';

/** A record alone, without its transaction. */
function contextOf(data: Uint8Array): DecodeContext {
  return { record: 'event', data, text: null, instruction: () => null, feePayer: null, tokenBalances: null };
}

/** Decodes the bytes of one event alone. Not for hot code, because it creates a list for each event. */
export function decodeData(venue: Venue, data: Uint8Array): { readonly outcome: DecodeOutcome; readonly events: readonly VenueEvent[] } {
  const events: VenueEvent[] = [];
  const outcome = venue.decode(contextOf(data), (event) => events.push(event));
  return { outcome, events };
}
