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

/** SOL/USDC of Orca, with the fee of 0.04 %. The simulated chain has this one. */
export const solPricePool = { venue: orcaWhirlpool, address: 'Czfq3xZZDmsdGdUyrNLtRhGc47cXcZtLG4crryfu44zE' };

/**
 * The pools that give the values of SOL and of other quote coins, each with its price in its account. Pools of Orca and Raydium, whose addresses follow
 * from their coins. Three for each coin, so that one that somebody moves changes nothing.
 */
export const pricePools: readonly string[] = [
  // SOL/USDC; USDT/USDC twice and SOL/USDT; USD1/USDC twice and SOL/USD1; SOL/JitoSOL twice and JitoSOL/USDC.
  `${solPricePool.address} 8sLbNZoA1cfnvMJLPfp98ZLAnFSYCFApfJKMbiXNLwxj CYbD9RaToYMtWKA7QZyoLahnHdWq553Vm62Lh6qWtuxq`,
  '4fuUiYxTQ6QCrdSq9ouBYcTM7bqSwYTSyLueGZLTy4T4 BZtgQEyS6eXUXicYPHecYQ7PybqodXQMvkjUbP4R8mUU 3nMFwZXwY1s1M5s8vYAHqd4wGs4iSxXE4LRoUMMYqEgF',
  'F9SNVFmT1qxGrMnMDBp6xZNTC6AbXYzvXV4b8tez3NfN BCDdHonby65iduz3Ev3c9v5XjNkzyu5e56KRFHpBM4T9 AQAGYQsdU853WAKhXM79CgNdoyhrRwXvYHX6qrDyC1FS',
  'Hp53XEtt4S8SvPCXarsLSdGfZBuUr5mMmZmX2DRNXQKp 2uoKbPEidR7KAMYtY4x7xdkHXWqYib5k4CutJauSL3Mc 5hWJUNTtEtKmKgDXpthJXXRRmJrz5vJ7uJzrUNVdrwLg',
].flatMap((pools) => pools.split(' '));

/** Raw supply with which a coin usually starts that trades on this curve, or, in a pool, whose address names its platform; null if unknown. */
export function usualSupply(pool: VenueName, mint: string): bigint | null {
  for (const { name, curves } of venues) {
    if (curves !== null && (name === pool || (curves.mintEnding !== null && mint.endsWith(curves.mintEnding)))) return curves.usualSupply;
  }
  return null;
}
