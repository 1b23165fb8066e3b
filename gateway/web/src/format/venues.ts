/** Venues with the names that people use. A test compares them with the venues of the server. */
export const venues = [
  ['pump', 'pump'],
  ['pump-amm', 'PumpSwap'],
  ['launchlab', 'LaunchLab'],
  ['raydium-cpmm', 'Raydium CPMM'],
  ['raydium-amm', 'Raydium AMM'],
  ['raydium-clmm', 'Raydium CLMM'],
  ['meteora-dbc', 'Meteora DBC'],
  ['meteora-damm-v2', 'Meteora DAMM v2'],
  ['meteora-dlmm', 'Meteora DLMM'],
  ['orca-whirlpool', 'Orca Whirlpool'],
] as const;

/** Venues to which sluice sends orders. */
export const tradedVenues: ReadonlySet<string> = new Set(['pump', 'pump-amm']);
