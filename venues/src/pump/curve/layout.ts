/**
 * Layouts of pump's records as byte offsets from their first byte, including the eight bytes of the discriminator. Source: the IDL of
 * `@pump-fun/pump-sdk` 2.0.0, and the published IDL of 2026-10 for later additions. Layouts have only grown at the end; README.md lists the
 * lengths that were seen.
 */

/** TradeEvent up to `real_token_reserves`: the shortest layout that contains the reserves (2024). */
export const tradeMinLength = 129;
/** One `Shareholder`: address and u16 share. */
export const shareholderLength = 34;

/** BondingCurve: offset of each field that a later layout added. */
export const curve = {
  virtualToken: 8,
  virtualQuote: 16,
  realToken: 24,
  realQuote: 32,
  supply: 40,
  complete: 48,
  creator: 49,
  mayhemMode: 81,
  cashback: 82,
  quoteMint: 83,
  creatorFeeBps: 115,
  holderReward: 124,
} as const;
/**
 * The shortest BondingCurve ever written ends after `complete`. `create_v2` has allocated 125 bytes since 2026-09-15, `extend_account` grew
 * curves to 151, and the layout of 2026-10 has 166.
 */
export const curveMinLength = 49;

/** The shortest Global that is supported ends after `reserved_fee_recipients`; 1,045, 1,054 and 1,087 bytes have been seen. */
export const globalMinLength = 740;
