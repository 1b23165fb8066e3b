/** Names that people use. */
const names: ReadonlyMap<string, string> = new Map([
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
]);

export const venueName = (venue: string): string => names.get(venue) ?? venue;

/** Venues to which sluice sends orders. */
export const tradedVenues: ReadonlySet<string> = new Set(['pump', 'pump-amm']);
