/**
 * What the signer must know about a program to check a trade from its bytes alone: its trade instructions, the accounts that must belong to
 * the user, and the most that a trade can cost. Data and pure functions, so the signer itself names no program.
 */
export interface VenueSigning {
  readonly forms: readonly TradeForm[];
  /** Sizes of the accounts that the program may create in one trade, at the user's cost. The rent follows from them. */
  readonly createdBytes: readonly number[];
  /** The instruction that grows a pool account at the user's cost; null if there is none. */
  readonly growth: GrowthForm | null;
}

/** One trade instruction. Forms with the same discriminator differ in the number of accounts. Positions are indexes into the accounts. */
export interface TradeForm {
  readonly discriminator: Uint8Array;
  /** Smallest and largest number of accounts. */
  readonly accountCount: readonly [fewest: number, most: number];
  /** Smallest and largest number of bytes of data. */
  readonly dataBytes: readonly [fewest: number, most: number];
  /**
   * Which coin is the money: the input of a buy, the output of a sale. Null if the instruction trades in both directions: then the coin that is a quote coin
   * of sluice is the money, and a trade of two such coins, or of none, is refused.
   */
  readonly money: 'input' | 'output' | null;
  /** Signs. */
  readonly user: number;
  /** What the user gives, and what the user receives. */
  readonly input: CoinPositions;
  readonly output: CoinPositions;
  readonly mints: MintPositions;
  readonly pool: PoolPosition;
  readonly limits: LimitOffsets;
  /** Bytes of the data that must be zero, such as a fee for others. The end is not included. */
  readonly zeros: readonly (readonly [from: number, end: number])[];
}

export interface CoinPositions {
  /** The user's token account. The signer requires that it is the associated account of `user`, or one of wrapped SOL that the message opens. */
  readonly account: number;
  /** The token program of this coin. Null if no account of the instruction is for it alone. Then the user's token account shows the program. */
  readonly program: number | null;
}

/**
 * The mints of the input and the output. `either`: both mints of the pool, and the user's accounts show which is the input. Null if the instruction names none. Then
 * the pool's account does (`coinsIn`), and the user's accounts show which is the input.
 */
export type MintPositions = { readonly input: number; readonly output: number } | { readonly either: readonly [number, number] } | null;

/** The pool, with the proof that it trades the coins: either its address follows from them, or its account names them. */
export type PoolPosition = { readonly at: number } & (
  | {
      /** The only address that the venue allows for a pool of these coins. It may depend on other accounts of the instruction, such as a fee tier. */
      readonly addressOf: (coins: TradedCoins, accounts: readonly string[]) => string;
    }
  | {
      /**
       * Both coins from the bytes of the pool's account; null if the bytes are not a pool. The signer gets the bytes with the message. If they are false, it
       * refuses the trade, or the program does: the user's token accounts must be those of these coins.
       */
      readonly coinsIn: (data: Uint8Array) => readonly [string, string] | null;
    }
);

export interface TradedCoins {
  readonly base: string;
  readonly quote: string;
}

/** Offsets in the data. Both limits are u64. */
export interface LimitOffsets {
  /** What the user pays at most. */
  readonly maxInAt: number;
  /** What the user receives at least. */
  readonly minOutAt: number;
  /** A byte that says which amount is exact. Any other value of it is refused. Null: the limits are always at these places. */
  readonly mode: LimitMode | null;
}

export interface LimitMode {
  readonly at: number;
  /** Values if the amount that the user gives is the exact one, or the most that is taken. */
  readonly exactIn: readonly number[];
  /** The value if the amount that the user receives is the exact one. Then the two limits have exchanged their places. */
  readonly exactOut: number;
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
