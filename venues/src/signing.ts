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
  /**
   * Which coin is the money: the input of a buy, the output of a sale. Null if the instruction trades in both directions: then the coin that is a quote coin
   * of sluice is the money, and a trade of two such coins, or of none, is refused.
   */
  readonly money: 'input' | 'output' | null;
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
  /** What the user gives, and what the user receives. */
  readonly input: CoinPositions;
  readonly output: CoinPositions;
}

export interface CoinPositions {
  readonly mint: number;
  readonly program: number;
  /** The user's token account. The signer requires that it is the associated account of `user`. */
  readonly account: number;
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
