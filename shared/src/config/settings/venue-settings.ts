import { decodedVenueNames, defaultVenueNames, type VenueName } from '../../wire/venues.ts';
import { listOf, inQuotes, type Fault, type Get } from '../fault.ts';

/** The venues that VENUES names; the default ones if it is not set. */
export function readVenues(get: Get, fault: Fault): readonly VenueName[] {
  const names: readonly string[] = listOf('VENUES', get, fault);
  for (const name of names) {
    if (!decodedVenueNames.some((known) => known === name))
      fault('VENUES', `${inQuotes(name)} is not one of ${decodedVenueNames.join(', ')}`);
  }
  return names.length === 0 ? defaultVenueNames : decodedVenueNames.filter((name) => names.includes(name));
}
