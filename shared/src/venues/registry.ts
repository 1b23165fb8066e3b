import { orcaWhirlpool } from './orca-whirlpool/index.ts';
import { pump } from './pump/index.ts';
import { pumpAmm } from './pump-amm/index.ts';
import type { Venue } from './venue.ts';

/** All venues that ingest decodes. To add one, add a line. */
export const venues: readonly Venue[] = [pump, pumpAmm, orcaWhirlpool];

export const venueByProgram: ReadonlyMap<string, Venue> = new Map(venues.map((venue) => [venue.programId, venue]));
