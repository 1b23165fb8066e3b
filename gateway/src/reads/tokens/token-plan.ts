import { metaplexAddress } from '@sluice/shared/solana/tokens/metaplex.ts';
import type { PoolPlace } from '@sluice/venues/pool-accounts.ts';

/** The accounts of a mint that are read in one call. */
export interface TokenPlan {
  readonly mint: string;
  readonly metaplex: string;
  readonly pools: readonly PoolPlace[];
  /** All addresses, the mint first. */
  readonly addresses: readonly string[];
}

/** Throws TypeError if `mint` is not an address. */
export function planToken(mint: string, pools: readonly PoolPlace[]): TokenPlan {
  const metaplex = metaplexAddress(mint);
  return { mint, metaplex, pools, addresses: [mint, metaplex, ...pools.flatMap(({ address, vaults }) => [address, ...vaults])] };
}
