/** Byte offsets, with the eight bytes of the discriminator. Source: the IDL of version 0.12.0 (dlmm-sdk 2f540c2); recordings agree with it. */
export const pair = {
  baseFactor: 8,
  filterPeriod: 10,
  decayPeriod: 12,
  reductionFactor: 14,
  variableFeeControl: 16,
  maxVolatility: 20,
  protocolShare: 32,
  baseFeePower: 34,
  functionType: 35,
  collectFeeMode: 36,
  volatility: 40,
  volatilityReference: 44,
  indexReference: 48,
  updatedAt: 56,
  pairType: 75,
  activeId: 76,
  binStep: 80,
  status: 82,
  activationType: 86,
  mintX: 88,
  mintY: 120,
  reserveX: 152,
  reserveY: 184,
  rewardMints: [264, 408],
  bitmap: 584,
  activationPoint: 816,
} as const;
export const pairLength = 904;

/** Bins of one account. Each has its amounts, its price (Q64.64) and its limit orders. */
export const binArray = { index: 8, pair: 24, bins: 56, binLength: 144 } as const;
export const bin = { amountX: 0, amountY: 8, price: 16, openOrders: 112, processedOrders: 128, asks: 140 } as const;
export const binsPerArray = 70;
export const binArrayLength = 10_136;

/** Bytes of `Swap` and `Swap2Evt`. */
export const swapLength = 137;
export const swap2Length = 155;
