/** Byte offsets, with the eight bytes of the discriminator. Source: the IDL of the SDK 1.5.12; accounts of mainnet agree with it (README.md). */
export const pool = {
  volatilityAccumulator: 40,
  config: 72,
  creator: 104,
  baseMint: 136,
  baseVault: 168,
  quoteVault: 200,
  quoteReserve: 240,
  sqrtPrice: 280,
  activationPoint: 296,
  isMigrated: 305,
} as const;
export const poolLength = 424;

export const config = {
  quoteMint: 8,
  cliff: 104,
  secondFactor: 112,
  thirdFactor: 120,
  firstFactor: 128,
  baseFeeMode: 130,
  hasDynamicFee: 136,
  variableFeeControl: 148,
  binStep: 152,
  collectFeeMode: 232,
  activationType: 234,
  decimals: 235,
  creatorShare: 245,
  tokenAuthority: 246,
  threshold: 264,
  migrationPrice: 280,
  startPrice: 392,
  curve: 408,
} as const;
export const configLength = 1048;
/** The square root of a price and the liquidity up to it. */
export const pointLength = 32;
export const maxPoints = 20;
