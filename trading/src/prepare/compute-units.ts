/**
 * Compute units of the instructions around a trade, measured on mainnet: the token program takes 100 to 4,000, the associated token program
 * 1,500 for each bump that it tries, and a builtin program 150.
 */
export const unitsOf = {
  builtin: 150,
  createTokenAccount: 24_000,
  /** If the account exists already. */
  findTokenAccount: 12_000,
  initializeTokenAccount: 4_500,
  syncNative: 3_200,
  closeTokenAccount: 3_200,
} as const;

/** The runtime's limit for one transaction. */
const maxComputeUnits = 1_400_000;
/** Added to the measured units, because the number of bumps (1,500 units each) differs between pools. */
const marginPct = 30;

/** The compute unit limit for a transaction that was measured to take `units`. */
export function withMargin(units: number): number {
  return Math.min(maxComputeUnits, Math.ceil((units * (100 + marginPct)) / 100));
}
