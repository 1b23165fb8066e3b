import { decodedVenueNames, type VenueName, venuesByLogs } from '../../wire/venues.ts';
import type { Config } from '../config.ts';
import { listOf, inQuotes, type Fault, type Get } from '../fault.ts';

/** The venues that VENUES names. If it is not set: all that logs alone can show, or all. */
export function readVenues(sources: Config['sources'], get: Get, fault: Fault): readonly VenueName[] {
  const names: readonly string[] = listOf('VENUES', get, fault);
  for (const name of names) {
    if (!decodedVenueNames.some((known) => known === name))
      fault('VENUES', `${inQuotes(name)} is not one of ${decodedVenueNames.join(', ')}`);
  }
  if (names.length > 0) return decodedVenueNames.filter((name) => names.includes(name));
  return sources?.every((source) => source === 'logs') === true ? venuesByLogs : decodedVenueNames;
}
