/** Raydium AMM v4. It is not written with Anchor: an instruction begins with one byte, and its events are texts in the log. */
export const programId = '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8';

/** Owns the vaults of all pools: the PDA `["amm authority"]`. */
export const authority = '5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1';

/** Before each event, which is in base64. */
export const logPrefix = 'ray_log: ';

/** First bytes of events. */
export const events = { opening: 0, deposit: 1, withdrawal: 2, swapExactIn: 3, swapExactOut: 4 } as const;

export const instructions = {
  initialize2: 1,
  deposit: 3,
  withdraw: 4,
  swapBaseIn: 9,
  swapBaseOut: 11,
  swapBaseInV2: 16,
  swapBaseOutV2: 17,
} as const;

/** Where the accounts of an instruction are, by its number of accounts. Those of older programs have accounts of an order book. */
export interface Places {
  readonly vaults: readonly [coin: number, pc: number];
  readonly user: number;
}

/** The pool is account 1 of each instruction except those that open one. */
export const poolAt = 1;

/** Of the instructions without an order book, which allow further accounts. */
export const swapPlacesV2: Places = { vaults: [3, 4], user: 7 };
export const swapPlaces: Readonly<Record<number, Places | undefined>> = {
  17: { vaults: [4, 5], user: 16 },
  18: { vaults: [5, 6], user: 17 },
};

export const depositPlaces: Readonly<Record<number, Places | undefined>> = {
  11: { vaults: [5, 6], user: 10 },
  14: { vaults: [6, 7], user: 12 },
  15: { vaults: [6, 7], user: 12 },
};

export const withdrawalPlaces: Readonly<Record<number, Places | undefined>> = {
  11: { vaults: [5, 6], user: 10 },
  20: { vaults: [6, 7], user: 16 },
  21: { vaults: [6, 7], user: 16 },
  22: { vaults: [6, 7], user: 18 },
  23: { vaults: [6, 7], user: 18 },
};

/** `initialize2`, without and with the accounts of an order book. */
export const openingPlaces: Readonly<Record<number, { readonly mints: readonly [number, number]; readonly user: number } | undefined>> = {
  19: { mints: [7, 8], user: 15 },
  21: { mints: [8, 9], user: 17 },
};
export const openedPoolAt = 4;
