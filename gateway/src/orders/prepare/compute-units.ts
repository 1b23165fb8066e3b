/**
 * Compute units of what stands around a trade, as the network takes them: the token program 100 to 4,000, the associated token
 * program by how many bumps it has to try (1,500 each), programs of the runtime 150.
 */
export const unitsOf = {
  builtin: 150,
  createTokenAccount: 24_000,
  /** Where it is there already. */
  findTokenAccount: 12_000,
  syncNative: 3_200,
  closeTokenAccount: 3_200,
} as const;

/** Most that a transaction may ask for (runtime). */
const maxComputeUnits = 1_400_000;
/** What is asked for beyond what was measured: bumps of addresses cost 1,500 units each, and each pool's differ. */
const marginPct = 30;

/** The limit for a transaction that takes so many units as measured. */
export function withMargin(units: number): number {
  return Math.min(maxComputeUnits, Math.ceil((units * (100 + marginPct)) / 100));
}
