import type { VenueName } from './names.ts';
import { orcaWhirlpool } from './orca-whirlpool/index.ts';
import { pump } from './pump/index.ts';
import { pumpAmm } from './pump-amm/index.ts';
import type { Venue } from './venue.ts';

/** All venues that ingest decodes. To add one, add a line. */
export const venues: readonly Venue[] = [pump, pumpAmm, orcaWhirlpool];

export const venueByProgram: ReadonlyMap<string, Venue> = new Map(venues.map((venue) => [venue.programId, venue]));
export const venueByName: ReadonlyMap<VenueName, Venue> = new Map(venues.map((venue) => [venue.name, venue]));

/** The venues that quote, and those to which orders are sent. */
export const quotedVenueNames: readonly VenueName[] = namesOf(({ quoting }) => quoting !== null);
export const tradedVenueNames: readonly VenueName[] = namesOf(({ signing }) => signing !== null);

const curveVenues: ReadonlySet<VenueName> = new Set(namesOf(({ curves }) => curves !== null));

/** Whether the venue's pools are bonding curves. */
export function isCurveVenue(name: VenueName): boolean {
  return curveVenues.has(name);
}

/** Raw supply with which a coin usually starts that trades on this curve, or, in a pool, whose address names its platform; null if unknown. */
export function usualSupply(pool: VenueName, mint: string): bigint | null {
  for (const { name, curves } of venues) {
    if (curves !== null && (name === pool || (curves.mintEnding !== null && mint.endsWith(curves.mintEnding)))) return curves.usualSupply;
  }
  return null;
}

function namesOf(has: (venue: Venue) => boolean): readonly VenueName[] {
  return venues.filter(has).map(({ name }) => name);
}
