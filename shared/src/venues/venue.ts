import type { TokenBalance, TransactionInnerInstruction, TransactionInstruction } from '../solana/inner-events.ts';
import type { VenueName } from '../wire/events.ts';
import type { VenueQuoting } from './quoting.ts';
import type { VenueSigning } from './signing.ts';
import type { TradeFault } from './trading.ts';

/**
 * One program of the chain: how it reveals trades, what its bytes mean, what a trade would give. Everything here is pure: no I/O, no clock,
 * no logger; no function throws on any bytes. Addresses are base58 strings, amounts raw integers.
 */
export interface Venue {
  readonly name: VenueName;
  readonly programId: string;
  /**
   * The simplest form that shows all trades of the program. `logs`: `Program data:` lines, or text that begins with `textPrefix`. `cpi`:
   * self-CPI events. `instructions`: the instructions themselves. Of a program that does not log its trades, ingest fetches every
   * transaction whole.
   */
  readonly reveals: 'logs' | 'cpi' | 'instructions';
  /** First characters of the `Program log:` lines to decode; null if the program logs no text. Requires `logs`, and no event authority. */
  readonly textPrefix: string | null;
  /** Account that signs the program's self-CPI events; null if the program has none. */
  readonly eventAuthority: string | null;
  /** Prefixes (bytes at offset 0) of the accounts to subscribe to with `programSubscribe`; empty for none. */
  readonly watchedAccountPrefixes: readonly Uint8Array[];
  /** Decodes one record of the program and emits its events, in order. */
  decode(context: DecodeContext, emit: (event: VenueEvent) => void): DecodeOutcome;
  /** Decodes an account that the program owns. */
  decodeAccount(data: Uint8Array): DecodedAccount;
  /** The pool of a mint if the address follows from the mint alone (bonding curves); otherwise null. */
  poolOfMint(mint: string): string | null;
  /** Every pool of a mint whose address follows from it, with the accounts that hold its reserves; empty for text that is no address. */
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

/** A record that a program emitted, with what its transaction shows around it. Valid during the call of `decode` only. */
export interface DecodeContext {
  /**
   * An event: 8-byte discriminator and Borsh body, as logged or sent by self-CPI (without the CPI tag). Of a venue that reveals its trades by
   * `instructions`, the data of one instruction. Empty for text.
   */
  readonly data: Uint8Array;
  /** Logged text with its prefix; null for bytes. */
  readonly text: string | null;
  /** The instruction that emitted it; null if the sighting shows logs only. */
  instruction(): EmittingInstruction | null;
  /** Null if the sighting shows logs only. */
  readonly feePayer: string | null;
  /** Null if the sighting shows logs only, or the node did not record them. */
  readonly tokenBalances: readonly TokenBalance[] | null;
}

export interface EmittingInstruction extends TransactionInstruction {
  /** All inner instructions of the same top-level instruction, in order. */
  readonly inner: readonly TransactionInnerInstruction[];
  /** Its index in `inner`; -1 for the top-level instruction itself. */
  readonly at: number;
}

/**
 * `ignored`: known and of no interest. `unknown`: a discriminator never seen. `malformed`: too short or senseless. `incomplete`: the event
 * needs its instruction, and the sighting shows logs only; ingest then fetches the whole transaction.
 */
export type DecodeOutcome =
  | { readonly kind: 'decoded' }
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'ignored'; readonly name: string }
  | { readonly kind: 'unknown'; readonly discriminator: string }
  | { readonly kind: 'malformed'; readonly reason: string };

/** A pool whose address follows from the mint. Whether it exists, its account shows. */
export interface DerivedPool {
  readonly address: string;
  /** Where its base coin may stand (one account for each token program), then its quote coin; empty where its own account tells its reserves. */
  readonly vaults: readonly string[];
}

export type DecodedAccount =
  | { readonly kind: 'decoded'; readonly account: VenueAccount }
  | { readonly kind: 'ignored'; readonly name: string }
  | { readonly kind: 'unknown'; readonly discriminator: string }
  | { readonly kind: 'malformed'; readonly reason: string };

export type VenueEvent = VenueTrade | TokenCreated | PoolCreated | CurveCompleted | CurveMigrated | ReservesChanged;
export type VenueAccount = CurveAccount | PoolAccount;

/** The price follows from virtualQuote / virtualBase; real* are what can leave the pool. All after the event. */
export interface PoolReserves {
  readonly virtualBase: bigint;
  readonly virtualQuote: bigint;
  readonly realBase: bigint;
  readonly realQuote: bigint;
}

/** State of a pool after an event, as far as its price goes. */
export interface PriceState {
  /** Raw quote for raw base, exactly `priceQuote / priceBase`. Senseless where either is not above 0. */
  readonly priceQuote: bigint;
  readonly priceBase: bigint;
  /** Null for a pool whose price does not follow from reserves. */
  readonly reserves: PoolReserves | null;
  /** Raw quote that sellers get before the price has fallen by 1 %, fees apart. Null if unknown, or if it follows from `reserves`. */
  readonly depth: bigint | null;
}

/** `buyback` is a share of the protocol fee. Each of the others is charged beside the amount that went through the pool. */
export type FeeKind = 'protocol' | 'creator' | 'lp' | 'cashback' | 'holderRewards' | 'buyback';

export interface FeePart {
  readonly amount: bigint;
  /** Rounded, if the event names no rate. */
  readonly bps: number;
}

/** Events often name no mints, so a fee names the side of the pair that it was charged in. */
export interface Fee extends FeePart {
  readonly kind: FeeKind;
  readonly coin: 'base' | 'quote';
}

export interface VenueTrade extends PriceState {
  readonly type: 'trade';
  /** Null where the event names no pool: then it is `poolOfMint(mint)`. */
  readonly pool: string | null;
  /** Null where the event names no mint: then the pool's account tells both. */
  readonly mint: string | null;
  /** Null where it must be read from the pool. */
  readonly quoteMint: string | null;
  readonly side: 'buy' | 'sell';
  /** The user account of the swap instruction. */
  readonly trader: string;
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  readonly fees: readonly Fee[];
  /** What the trader paid (buy) or did not receive (sell) in the quote coin beside the amount through the pool. */
  readonly feeTotal: bigint;
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
  /** Names of what is special about the coin, by its venue. */
  readonly traits: readonly string[];
  /** Only the mint's account tells the true supply. */
  readonly supplyByMint: boolean;
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
  /** Null for a pool whose price does not follow from reserves. */
  readonly reserves: PoolReserves | null;
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
  /** Null if `supplyByMint`. */
  readonly supply: bigint | null;
  readonly complete: boolean;
  readonly creator: string;
  /** Names of what is special about the coin, by its venue. */
  readonly traits: readonly string[];
  /** Only the mint's account tells the true supply. */
  readonly supplyByMint: boolean;
  readonly creatorFeeBps: number;
}

/** Pool as its account shows it. */
export interface PoolAccount {
  readonly type: 'pool';
  readonly baseMint: string;
  readonly quoteMint: string;
  readonly baseVault: string;
  readonly quoteVault: string;
  /** Creator of the coin; the zero address if there is none. */
  readonly coinCreator: string;
  /** Null if the price follows from the balances of the vaults. */
  readonly price: PriceState | null;
  /** Added to the quote vault's balance for the price; may be negative. */
  readonly virtualQuote: bigint;
  /** Names of what is special about the coin, by its venue. */
  readonly traits: readonly string[];
  /** Only the mint's account tells the true supply. */
  readonly supplyByMint: boolean;
  readonly creatorFeeBps: number;
}
