/** Byte offsets, with the eight bytes of the discriminator. Source: the published raydium-clmm (Apache 2.0); recordings agree with it. */
export const pool = {
  config: 9,
  mint0: 73,
  mint1: 105,
  vault0: 137,
  vault1: 169,
  tickSpacing: 235,
  liquidity: 237,
  sqrtPrice: 253,
  tick: 269,
  status: 389,
  feeOn: 390,
  bitmap: 904,
  openTime: 1080,
  dynamicFee: 1096,
} as const;
export const poolLength = 1544;
export const dynamicFeeLength = 80;
/** Bit of `status` that forbids swaps. */
export const swapDisabled = 16;

export const config = { protocolFeeRate: 43, tradeFeeRate: 47, fundFeeRate: 53 } as const;
export const configLength = 117;

/** Bytes of `SwapEvent` before and since the fees were added. */
export const swapEventLength = 205;
export const swapEventTail = 16;

/** Ticks of one account; each has its number, `liquidity_net` (i128), `liquidity_gross` (u128), and what is left of limit orders. */
export const tickArray = { pool: 8, start: 40, ticks: 44, tickLength: 168, net: 4, gross: 20, orders: 124, partlyFilled: 132 } as const;
export const ticksPerArray = 60;
export const tickArrayLength = 10_240;
