import type { VenueName } from '../wire/events.ts';
import type { VenueQuoting } from './quoting.ts';
import type { VenueSigning } from './signing.ts';
import type { TradeFault } from './trading.ts';

/**
 * What a venue tells about its program. Everything here is pure: no I/O, no clock, no logger; no function throws on any
 * bytes. Addresses are base58 strings, amounts raw integers.
 */
export interface Venue {
  readonly name: VenueName;
  readonly programId: string;
  /**
   * The simplest form that shows all trades of the program. `logs`: `Program data:` lines, or text that `logText` reads. `cpi`: self-CPI
   * events. `instructions`: the instructions themselves. Of a program that does not log its trades, ingest fetches every transaction whole.
   */
  readonly reveals: 'logs' | 'cpi' | 'instructions';
  /** Reads trades from plain `Program log:` lines; null for a program that logs none. Requires `logs`, and no event authority. */
  readonly logText: LogText | null;
  /** Account that signs the program's self-CPI events; null if the program has none. */
  readonly eventAuthority: string | null;
  /** Prefixes (bytes at offset 0) of the accounts to subscribe to with `programSubscribe`; empty for none. */
  readonly watchedAccountPrefixes: readonly Uint8Array[];
  /**
   * Decodes one event: 8-byte discriminator and Borsh body, as logged or sent by self-CPI (without the CPI tag). Of a venue that reveals its
   * trades by `instructions`, the data of one instruction.
   */
  decodeEvent(data: Uint8Array): DecodedEvent;
  /** Decodes an account that the program owns. */
  decodeAccount(data: Uint8Array): DecodedAccount;
  /** The pool of a mint where the address follows from the mint alone (bonding curves); otherwise null. */
  poolOfMint(mint: string): string | null;
  /** Every pool of a mint whose address follows from it, with the accounts to read its reserves from; empty for text that is no address. */
  derivedPools(mint: string): readonly DerivedPool[];
  /** Part of a bonding curve's tokens that was sold, percent, by what is left; null where the venue has no curves. */
  curveProgress(realBase: bigint): number | null;
  /** What a trade would give, by the program's own arithmetic; null where that is not known here. */
  readonly quoting: VenueQuoting | null;
  /** What the signer must know to sign its trades; null if it signs none. */
  readonly signing: VenueSigning | null;
  /** What an error code of this program means for a trade. Other programs use the same numbers: ask the one that failed. */
  tradeFault(code: number): TradeFault;
}

export interface LogText {
  /** First characters of the text, behind `Program log: `. Other text never reaches the venue. */
  readonly prefix: string;
  /** Decodes one text, with its prefix. */
  decode(text: string): DecodedEvent;
}

/** A pool whose address follows from the mint. Whether it exists, its account shows. */
export interface DerivedPool {
  readonly address: string;
  /** Where its base coin may stand (one account for each token program), then its quote coin; empty where its own account tells its reserves. */
  readonly vaults: readonly string[];
}

/** `ignored`: known and of no interest. `unknown`: a discriminator never seen. `malformed`: too short or senseless. */
export type DecodedEvent =
  | { readonly kind: 'decoded'; readonly event: VenueEvent }
  | { readonly kind: 'ignored'; readonly name: string }
  | { readonly kind: 'unknown'; readonly discriminator: string }
  | { readonly kind: 'malformed'; readonly reason: string };

export type DecodedAccount =
  | { readonly kind: 'decoded'; readonly account: VenueAccount }
  | { readonly kind: 'ignored'; readonly name: string }
  | { readonly kind: 'unknown'; readonly discriminator: string }
  | { readonly kind: 'malformed'; readonly reason: string };

export type VenueEvent = VenueTrade | TokenCreated | PoolCreated | CurveCompleted | CurveMigrated | ReservesChanged;
export type VenueAccount = CurveAccount | PoolAccount;

/** Price is virtualQuote / virtualBase; real* are what can leave the pool. All after the event. */
export interface PoolReserves {
  readonly virtualBase: bigint;
  readonly virtualQuote: bigint;
  readonly realBase: bigint;
  readonly realQuote: bigint;
}

export interface FeePart {
  readonly amount: bigint;
  readonly bps: number;
}

/** Fees in the quote coin, each charged beside the amount that went through the pool. */
export interface TradeFees {
  readonly protocol: FeePart;
  readonly creator: FeePart;
  readonly lp: FeePart;
  readonly cashback: FeePart;
  readonly holderRewards: FeePart;
  /** What the trader paid (buy) or did not receive (sell) beside the amount through the pool. */
  readonly total: bigint;
}

export interface VenueTrade {
  readonly type: 'trade';
  /** Null where the event names no pool: then it is `poolOfMint(mint)`. */
  readonly pool: string | null;
  /** Null where the event names no mint: then the pool's account tells both. */
  readonly mint: string | null;
  /** Null where it must be read from the pool. */
  readonly quoteMint: string | null;
  readonly side: 'buy' | 'sell';
  readonly trader: string;
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  readonly reserves: PoolReserves;
  readonly fees: TradeFees;
  /** Base supply where the event tells it. */
  readonly supply: bigint | null;
  /** Unix seconds by the chain clock; null where the event has none. */
  readonly timestamp: number | null;
}

export interface TokenCreated {
  readonly type: 'created';
  readonly mint: string;
  readonly quoteMint: string;
  readonly pool: string;
  readonly name: string;
  readonly symbol: string;
  readonly uri: string;
  readonly creator: string;
  readonly trader: string;
  /** Null where the event's layout did not have it yet. */
  readonly tokenProgram: string | null;
  readonly supply: bigint;
  readonly decimals: number;
  readonly reserves: PoolReserves;
  readonly mayhemMode: boolean;
  readonly cashback: boolean;
  readonly holderReward: boolean;
  readonly creatorFeeBps: number;
  readonly timestamp: number | null;
}

/** A pool was opened; `base` and `quote` as the program has them. */
export interface PoolCreated {
  readonly type: 'poolCreated';
  readonly pool: string;
  readonly baseMint: string;
  readonly quoteMint: string;
  readonly baseDecimals: number;
  readonly quoteDecimals: number;
  readonly reserves: PoolReserves;
  readonly creator: string;
  readonly timestamp: number | null;
}

export interface CurveCompleted {
  readonly type: 'completed';
  readonly mint: string;
  readonly pool: string;
  readonly quoteMint: string;
  readonly timestamp: number | null;
}

export interface CurveMigrated {
  readonly type: 'migrated';
  readonly mint: string;
  readonly quoteMint: string;
  readonly fromPool: string;
  readonly toVenue: VenueName;
  readonly toPool: string;
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  /** Quote coins that were taken from the curve beside those that moved. */
  readonly fee: bigint;
  readonly timestamp: number | null;
}

/** The venue changed its reserves without a trade: set virtual ones anew, or bought tokens and burned them. */
export interface ReservesChanged {
  readonly type: 'reserves';
  /** Null where the event names no pool: then it is `poolOfMint(mint)`. */
  readonly pool: string | null;
  readonly mint: string;
  readonly reserves: ChangedReserves;
  /** Tokens that left the supply. */
  readonly burned: bigint;
  readonly timestamp: number | null;
}

/** Base reserves are null where the event tells none: they stayed as they were. Without a virtual quote there is no price. */
export interface ChangedReserves {
  readonly virtualBase: bigint | null;
  readonly virtualQuote: bigint;
  readonly realBase: bigint | null;
  readonly realQuote: bigint;
}

/** Bonding curve as its account has it. */
export interface CurveAccount {
  readonly type: 'curve';
  readonly quoteMint: string;
  readonly reserves: PoolReserves;
  /** Null where the account does not tell the true supply: the mint's does. */
  readonly supply: bigint | null;
  readonly complete: boolean;
  readonly creator: string;
  readonly mayhemMode: boolean;
  readonly cashback: boolean;
  readonly holderReward: boolean;
  readonly creatorFeeBps: number;
}

/** Pool whose reserves stand in vault accounts. */
export interface PoolAccount {
  readonly type: 'pool';
  readonly baseMint: string;
  readonly quoteMint: string;
  readonly baseVault: string;
  readonly quoteVault: string;
  readonly lpMint: string;
  readonly creator: string;
  readonly coinCreator: string;
  /** Added to the quote vault's balance for the price; may be negative. */
  readonly virtualQuote: bigint;
  /** Fees in the quote vault that wait to be paid out; `virtualQuote` is less by as much. */
  readonly waitingFees: bigint;
  readonly mayhemMode: boolean;
  readonly cashback: boolean;
  readonly holderReward: boolean;
  readonly creatorFeeBps: number;
}
