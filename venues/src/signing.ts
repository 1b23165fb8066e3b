/**
 * What the signer must know about a program to check a trade from its bytes alone: its trade instructions, the accounts that must belong to
 * the user, and the most that a trade can cost. Data and pure functions, so the signer itself names no program.
 */
export interface VenueSigning {
  readonly forms: readonly TradeForm[];
  /** Whether a trade of this pair may use this pool. Throws TypeError if a mint is not an address. */
  allowsPool(pool: string, baseMint: string, quoteMint: string): boolean;
  /** Sizes of the accounts that the program may create in one trade, at the user's cost. The rent follows from them. */
  readonly createdBytes: readonly number[];
  /** The instruction that grows a pool account at the user's cost; null if there is none. */
  readonly growth: GrowthForm | null;
}

/** One trade instruction. Numbers in `positions` are indexes into its accounts. */
export interface TradeForm {
  readonly discriminator: Uint8Array;
  readonly side: 'buy' | 'sell';
  readonly positions: TradePositions;
  /** Smallest and largest number of accounts. */
  readonly accountCount: readonly [fewest: number, most: number];
  /** Smallest and largest number of bytes of data. */
  readonly dataBytes: readonly [fewest: number, most: number];
  /** Offset in the data of the u64 that limits what the user pays. */
  readonly maxInAt: number;
  /** Offset in the data of the u64 that limits what the user must receive at least. */
  readonly minOutAt: number;
}

export interface TradePositions {
  readonly pool: number;
  /** Signs. */
  readonly user: number;
  readonly baseMint: number;
  readonly quoteMint: number;
  readonly baseProgram: number;
  readonly quoteProgram: number;
  /** The user's token accounts. The signer requires that they are the associated accounts of `user`. */
  readonly baseAccount: number;
  readonly quoteAccount: number;
}

export interface GrowthForm {
  /** All data of the instruction. */
  readonly data: Uint8Array;
  readonly accountCount: number;
  readonly pool: number;
  readonly user: number;
  /** Largest size of the pool account afterwards, in bytes. */
  readonly bytes: number;
}
