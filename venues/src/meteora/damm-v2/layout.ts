/** Byte offsets, with the eight bytes of the discriminator. Source: the IDL of @meteora-ag/cp-amm-sdk 1.5.0 (MIT). */
export const pool = {
  mintA: 168,
  mintB: 200,
  vaultA: 232,
  vaultB: 264,
  liquidity: 360,
  sqrtMinPrice: 424,
  sqrtMaxPrice: 440,
  sqrtPrice: 456,
  collectFeeMode: 484,
  amountA: 680,
  amountB: 688,
  layoutVersion: 696,
} as const;
export const poolLength = 1112;

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
