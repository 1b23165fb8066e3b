import { metaplexAddress } from '@sluice/shared/solana/metaplex.ts';
import type { DerivedPool, Venue } from '@sluice/shared/venues/venue.ts';

/** Everything about a mint that can be asked for at once, because all addresses follow from the mint. */
export interface TokenPlan {
  readonly mint: string;
  readonly metaplex: string;
  readonly pools: readonly (DerivedPool & { readonly venue: Venue })[];
  /** All of them, the mint first. */
  readonly addresses: readonly string[];
}

/** Derives some ten addresses, about half a millisecond. Throws TypeError where `mint` is no address. */
export function planToken(mint: string, venues: readonly Venue[]): TokenPlan {
  const metaplex = metaplexAddress(mint);
  const pools = venues.flatMap((venue) => venue.derivedPools(mint).map((pool) => ({ ...pool, venue })));
  return { mint, metaplex, pools, addresses: [mint, metaplex, ...pools.flatMap(({ address, vaults }) => [address, ...vaults])] };
}
