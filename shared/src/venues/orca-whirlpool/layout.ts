/**
 * Whirlpool account (653 bytes) by byte offsets, the eight of the discriminator included. Source: the program's published
 * IDL (whirlpool 0.9.0). Only what a price needs.
 */
export const whirlpool = { liquidity: 49, sqrtPrice: 65, tick: 81, mintA: 101, vaultA: 133, mintB: 181, vaultB: 213 } as const;
export const whirlpoolLength = 653;
export const whirlpoolDiscriminator: Uint8Array = Uint8Array.from([0x3f, 0x95, 0xd1, 0x0c, 0xe1, 0x80, 0x63, 0x09]);
