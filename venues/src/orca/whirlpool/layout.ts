/**
 * Layouts as byte offsets, including the eight bytes of the discriminator. Source: the program's published IDL (whirlpool 0.9.0) for the accounts;
 * recorded transactions for `Traded`; the program's source for `PoolInitialized`.
 */
export const whirlpool = {
  tickSpacing: 41,
  feeTierIndex: 43,
  feeRate: 45,
  protocolFeeRate: 47,
  liquidity: 49,
  sqrtPrice: 65,
  tick: 81,
  mintA: 101,
  vaultA: 133,
  mintB: 181,
  vaultB: 213,
} as const;
export const whirlpoolLength = 653;

/** `Traded`: a swap on one pool. */
export const tradedLength = 121;

/** `PoolInitialized`. */
export const initialized = { pool: 8, mintA: 72, mintB: 104, decimalsA: 202, decimalsB: 203, sqrtPrice: 204 } as const;
export const initializedLength = 220;

export const whirlpoolDiscriminator: Uint8Array = Uint8Array.from([0x3f, 0x95, 0xd1, 0x0c, 0xe1, 0x80, 0x63, 0x09]);

/** Tick array of a fixed size: `initialized` (bool), `liquidity_net` (i128) and further fields for each of 88 ticks. */
export const fixedTickArray = { start: 8, ticks: 12, tickLength: 113, net: 1, whirlpool: 9956 } as const;
export const fixedTickArrayLength = 9988;
export const fixedTickArrayDiscriminator: Uint8Array = Uint8Array.from([0x45, 0x61, 0xbd, 0xbe, 0x6e, 0x07, 0x42, 0xbb]);

/** Tick array of a dynamic size: for each of 88 ticks a 0, or a 1 followed by the fields of the fixed form without `initialized`. */
export const dynamicTickArray = { start: 8, whirlpool: 12, ticks: 60, tickLength: 113, net: 1 } as const;
export const dynamicTickArrayDiscriminator: Uint8Array = Uint8Array.from([0x11, 0xd8, 0xf6, 0x8e, 0xe1, 0xc7, 0xda, 0x38]);
