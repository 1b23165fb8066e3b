import type { VenueName } from '@sluice/shared/wire/venues.ts';
import { meteoraDammV2 } from './meteora/damm-v2/index.ts';
import { meteoraDlmm } from './meteora/dlmm/index.ts';
import { meteoraDbc } from './meteora/dbc/index.ts';
import { orcaWhirlpool } from './orca/whirlpool/index.ts';
import { pump } from './pump/curve/index.ts';
import { pumpAmm } from './pump/amm/index.ts';
import { raydiumAmm } from './raydium/amm/index.ts';
import { raydiumClmm } from './raydium/clmm/index.ts';
import { raydiumCpmm } from './raydium/cpmm/index.ts';
import { launchLab } from './raydium/launchlab/index.ts';
import type { Venue } from './seam/venue.ts';

/** All venues that ingest decodes. To add one, add a line. */
export const venues: readonly Venue[] = [
  pump,
  pumpAmm,
  launchLab,
  raydiumCpmm,
  raydiumAmm,
  raydiumClmm,
  meteoraDbc,
  meteoraDammV2,
  meteoraDlmm,
  orcaWhirlpool,
];

export const venueByProgram: ReadonlyMap<string, Venue> = new Map(venues.map((venue) => [venue.programId, venue]));
/** The account that signs the self-CPI events of each program that has such events. */
export const eventAuthorities: ReadonlyMap<string, string> = new Map(
  venues.flatMap(({ programId, records: { eventAuthority } }) => (eventAuthority === null ? [] : [[programId, eventAuthority] as const])),
);

interface PricePool {
  readonly venue: Venue;
  readonly address: string;
}

/** SOL/USDC of Orca, with the fee of 0.04 %. The simulated chain has this one. */
export const solPricePool: PricePool = { venue: orcaWhirlpool, address: 'Czfq3xZZDmsdGdUyrNLtRhGc47cXcZtLG4crryfu44zE' };

/** The pools whose accounts give the price of SOL in USD: pools of SOL and a coin that is worth 1 USD, each with its price in its account. */
export const solPricePools: readonly PricePool[] = [
  solPricePool,
  { venue: raydiumClmm, address: '8sLbNZoA1cfnvMJLPfp98ZLAnFSYCFApfJKMbiXNLwxj' },
  { venue: raydiumClmm, address: 'CYbD9RaToYMtWKA7QZyoLahnHdWq553Vm62Lh6qWtuxq' },
];

/** Raw supply with which a coin usually starts that trades on this curve, or, in a pool, whose address names its platform; null if unknown. */
export function usualSupply(pool: VenueName, mint: string): bigint | null {
  for (const { name, curves } of venues) {
    if (curves !== null && (name === pool || (curves.mintEnding !== null && mint.endsWith(curves.mintEnding)))) return curves.usualSupply;
  }
  return null;
}
