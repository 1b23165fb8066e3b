/** Byte offsets, with the eight bytes of the discriminator. Source: the IDL `pump_amm` in `@pump-fun/pump-sdk` 2.0.0. Layouts only grow at the end. */

/** BuyEvent and SellEvent are equal up to here. The shortest layout (2025-03) ends before `coin_creator`. */
export const tradeMinLength = 312;

/** Pool: offsets of its fields. */
export const pool = {
  creator: 11,
  baseMint: 43,
  quoteMint: 75,
  lpMint: 107,
  baseVault: 139,
  quoteVault: 171,
  coinCreator: 211,
  mayhemMode: 243,
  cashback: 244,
  virtualQuote: 245,
  creatorFeeBps: 261,
  holderReward: 270,
  protocolFeesWaiting: 271,
  creatorFeesWaiting: 279,
} as const;
/** The shortest Pool ends after `lp_supply`; the layout of 2026-09 has 271 bytes, that of 2026-10 has 287, and 301 are allocated. */
export const poolMinLength = 211;

/** The shortest GlobalConfig that is supported ends after `reserved_fee_recipients`; 907, 940 and 949 bytes have been seen. */
export const globalConfigMinLength = 642;
