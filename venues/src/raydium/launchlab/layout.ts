/** Byte offsets, with the eight bytes of the discriminator. Source: the IDL of the program, version 0.2.0; recordings agree with it. */

/** Bytes of `TradeEvent` before `creator_fee` and `exact_in` were added; 147 since then. */
export const oldTradeLength = 138;

export const pool = {
  status: 17,
  baseDecimals: 18,
  supply: 21,
  totalBaseSell: 29,
  virtualBase: 37,
  virtualQuote: 45,
  realBase: 53,
  realQuote: 61,
  globalConfig: 141,
  platformConfig: 173,
  baseMint: 205,
  quoteMint: 237,
  baseVault: 269,
  quoteVault: 301,
  creator: 333,
} as const;
/** The shortest PoolState that is supported ends after `creator`; 429 bytes are allocated. */
export const poolMinLength = 365;

/** `status` of a curve that trades. 1 waits for its migration, and 2 has migrated. */
export const statusFunding = 0;
export const statusMigrated = 2;

export const globalConfig = { curveType: 16, tradeFeeRate: 27 } as const;
/** The shortest GlobalConfig that is supported ends after `trade_fee_rate`. */
export const globalConfigMinLength = 35;

export const platformConfig = { feeRate: 104, creatorFeeRate: 720 } as const;
/** The shortest PlatformConfig that is supported ends after `creator_fee_rate`, which older accounts have as padding. */
export const platformConfigMinLength = 728;
