/** Byte offsets of `AmmInfo`, which has no discriminator. Source: `state.rs` of raydium-amm (Apache 2.0). */
export const pool = {
  status: 0,
  swapFeeNumerator: 176,
  swapFeeDenominator: 184,
  coinProfit: 192,
  pcProfit: 200,
  openTime: 224,
  coinVault: 336,
  pcVault: 368,
  coinMint: 400,
  pcMint: 432,
} as const;
export const poolLength = 752;

/** Values of `status` with which a pool trades: at once, and from its opening on. Others forbid it, or belong to pools with an order book. */
export const trades = 6n;
export const tradesFromOpening = 7n;

/** `TargetOrders` and `AmmConfig`. */
export const otherLengths: ReadonlyMap<number, string> = new Map([
  [2208, 'TargetOrders'],
  [544, 'AmmConfig'],
]);

/** Bytes of the events, with their first byte. */
export const eventLengths = { opening: 75, deposit: 105, withdrawal: 89, swap: 57 } as const;
