import type { DecodeContext, DecodeOutcome, Venue, VenueEvent } from './venue.ts';

/** A record by itself, without its transaction. */
function contextOf(data: Uint8Array): DecodeContext {
  return { data, text: null, instruction: () => null, feePayer: null, tokenBalances: null };
}

/** Decodes one event's bytes by themselves. For code that is not hot: it makes a list for each. */
export function decodeData(venue: Venue, data: Uint8Array): { readonly outcome: DecodeOutcome; readonly events: readonly VenueEvent[] } {
  const events: VenueEvent[] = [];
  const outcome = venue.decode(contextOf(data), (event) => events.push(event));
  return { outcome, events };
}
