/** Byte offsets, with the eight bytes of the discriminator. Source: the IDL of @meteora-ag/cp-amm-sdk 1.5.0 (MIT). */
export const pool = {
  cliff: 8,
  baseFeeMode: 16,
  // Periods, or the increment of a rate limiter.
  baseFeeFirst: 22,
  // The length of a period; or the duration of the limiter, or the price step of a scheduler by market cap.
  baseFeeSecond: 24,
  // The largest fee of a limiter, or the duration of a scheduler by market cap.
  baseFeeThird: 28,
  // The reduction of a scheduler, or the reference of a limiter.
  baseFeeFourth: 32,
  protocolPercent: 48,
  dynamicFee: 56,
  initSqrtPrice: 152,
  mintA: 168,
  mintB: 200,
  vaultA: 232,
  vaultB: 264,
  liquidity: 360,
  sqrtMinPrice: 424,
  sqrtMaxPrice: 440,
  sqrtPrice: 456,
  activationPoint: 472,
  activationType: 480,
  status: 481,
  collectFeeMode: 484,
  feeVersion: 486,
  amountA: 680,
  amountB: 688,
  layoutVersion: 696,
} as const;
export const poolLength = 1112;

/** Within `dynamicFee`. */
export const dynamicFee = { isEnabled: 0, control: 12, binStep: 16, accumulator: 64 } as const;

/** Bytes of each event. */
export const eventLengths = {
  swap: 130,
  swap2: 188,
  initializePool: 340,
  addLiquidity: 168,
  removeLiquidity: 152,
  liquidityChange: 185,
} as const;

/** In `EvtInitializePool`: bytes of the fees before the optional dynamic fee, and of that fee. */
export const feeParameters = { fixed: 30, dynamic: 32 } as const;
