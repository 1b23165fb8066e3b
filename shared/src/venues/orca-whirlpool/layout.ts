/**
 * Layouts by byte offsets, the eight of the discriminator included. Source: the program's published IDL (whirlpool 0.9.0) for the account;
 * recorded transactions for `Traded`; the program's source for `PoolInitialized`.
 */
export const whirlpool = { liquidity: 49, sqrtPrice: 65, tick: 81, mintA: 101, vaultA: 133, mintB: 181, vaultB: 213 } as const;
export const whirlpoolLength = 653;

/** `Traded`: a swap on one pool. */
export const traded = {
  pool: 8,
  aToB: 40,
  sqrtPriceBefore: 41,
  sqrtPriceAfter: 57,
  input: 73,
  output: 81,
  inputTransferFee: 89,
  lpFee: 105,
  protocolFee: 113,
} as const;
export const tradedLength = 121;

/** `PoolInitialized`. */
export const initialized = { pool: 8, mintA: 72, mintB: 104, decimalsA: 202, decimalsB: 203, sqrtPrice: 204 } as const;
export const initializedLength = 220;

export const whirlpoolDiscriminator: Uint8Array = Uint8Array.from([0x3f, 0x95, 0xd1, 0x0c, 0xe1, 0x80, 0x63, 0x09]);
