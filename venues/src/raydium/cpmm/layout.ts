/** Byte offsets, with the eight bytes of the discriminator. Source: the published raydium-cp-swap (Apache 2.0); recordings agree with it. */
export const pool = {
  config: 8,
  vault0: 72,
  vault1: 104,
  mint0: 168,
  mint1: 200,
  observation: 296,
  status: 329,
  protocolFees0: 341,
  protocolFees1: 349,
  fundFees0: 357,
  fundFees1: 365,
  openTime: 373,
  creatorFeeOn: 389,
  enableCreatorFee: 390,
  creatorFees0: 397,
  creatorFees1: 405,
} as const;
export const poolLength = 637;
/** Bit of `status` that forbids swaps. */
export const swapDisabled = 4;

export const config = { tradeFeeRate: 12, protocolFeeRate: 20, fundFeeRate: 28, creatorFeeRate: 108 } as const;
export const configLength = 236;

/** Bytes of `SwapEvent` before and since the mints and fees were added. */
export const swapEventLength = 89;
export const swapEventTail = 81;

/** Bytes of `LpChangeEvent`, and where the data of a deposit or withdrawal has its LP tokens. */
export const liquidityEventLength = 97;
export const liquidityAmount = { lp: 8, length: 16 } as const;

/** The amounts of both coins in the data of an instruction that opens a pool. */
export const opening = { amount0: 8, amount1: 16, length: 32 } as const;
