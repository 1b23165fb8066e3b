/** Names of the venues in the contract with clients, as `pool` in events and requests: those of the registry, and those that will follow. */
export const venueNames = [
  'pump',
  'pump-amm',
  'launchlab',
  'raydium-cpmm',
  'raydium-amm',
  'raydium-clmm',
  'meteora-dbc',
  'meteora-damm-v2',
  'meteora-dlmm',
  'orca-whirlpool',
] as const;
export type VenueName = (typeof venueNames)[number];

/** Kinds of fees, each charged in addition to the amount through the pool. */
export const feeKinds = ['protocol', 'creator', 'lp', 'cashback', 'holderRewards'] as const;
export type FeeKind = (typeof feeKinds)[number];
