import type { TokenBalance, TransactionInnerInstruction, TransactionInstruction } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { FeeKind, VenueName } from '@sluice/shared/wire/venues.ts';
import type { VenueQuoting } from './quoting.ts';
import type { VenueSigning } from './signing.ts';
import type { TradeFault } from './trading.ts';

/**
 * One program of the chain: how it reveals trades, what its bytes mean, what a trade would give. Everything here is pure: no I/O, no clock,
 * no logger. No function throws, even for random bytes. Addresses are base58 strings, amounts raw integers.
 */
export interface Venue {
  readonly name: VenueName;
  readonly programId: string;
  readonly records: VenueRecords;
  /** The logs do not show all of a trade (`decode` returns `incomplete`): ingest fetches the whole transaction if only logs are known. */
  readonly needsTransaction: boolean;
  /** Prefixes (bytes at offset 0) of the accounts to subscribe to with `programSubscribe`; empty for none. */
  readonly watchedAccountPrefixes: readonly Uint8Array[];
  /** Decodes one record of the program and emits its events, in order. */
  decode(context: DecodeContext, emit: (event: VenueEvent) => void): DecodeOutcome;
  /** The numbers of an account that events `need`. Only a venue whose events have `needs` has this function. */
  constantsOf?(data: Uint8Array, read: ReadAccount, address: string): DecodedConstants;
  /** The trade with what the constants of the account that it `needs` add. Without them, the fields that it sets have no meaning. */
  completeTrade?(trade: VenueTrade, constants: AccountConstants): VenueTrade;
  /** The same for a new token. */
  completeCreated?(created: TokenCreated, constants: AccountConstants): TokenCreated;
  /** Owner of the accounts in which a program of the same maker locks LP tokens for good; absent if there is none. */
  readonly lpLocker?: string;
  /** Decodes an account that the program owns. */
  decodeAccount(data: Uint8Array, read?: ReadAccount): DecodedAccount;
  /** Every pool of a mint whose address can be computed, with the accounts that hold its reserves; empty if the text is not an address. */
  derivedPools(mint: string): readonly DerivedPool[];
  /** What all its pools have in common if they are bonding curves; null if they are ordinary pools. */
  readonly curves: BondingCurves | null;
  /** What a trade would give, by the program's own arithmetic; null if that is not known here. */
  readonly quoting: VenueQuoting | null;
  /** What the signer must know to sign the venue's trades; null if it signs none. */
  readonly signing: VenueSigning | null;
  /** The meaning of an error code for a trade. Other programs use the same numbers, so ask the venue of the program that failed. */
  tradeFault(code: number): TradeFault;
}

/** Parts of a transaction that are passed to `decode`, in the order of the chain. */
export interface VenueRecords {
  /** The program logs its events (`Program data:`). */
  readonly logged: boolean;
  /**
   * The account that signs the program's self-CPI events; null if it has none. A program that also logs them sends the same ones. They are then read from
   * the logs if these are all that is known, and otherwise from the instructions.
   */
  readonly eventAuthority: string | null;
  /** First bytes of the program's instructions that are records themselves, at any depth. Only a whole transaction shows them. */
  readonly instructions: readonly Uint8Array[];
  /** Prefix of the `Program log:` lines that are records; null if there are none. Requires that there is no event authority. */
  readonly textPrefix: string | null;
}

/** The base of a curve is the coin that starts on it. */
export interface BondingCurves {
  /** Decimals of every coin that starts on a curve of the venue; null if they differ. */
  readonly decimals: number | null;
  /** Raw supply with which a coin of the venue starts, unless it is a special one; null if supplies differ. */
  readonly usualSupply: bigint | null;
  /** Ending of the addresses of its coins; null if they have none. Others can make such addresses too. */
  readonly mintEnding: string | null;
}

export type RecordKind = 'event' | 'instruction' | 'text';

/** A record that a program emitted, with the parts of its transaction that the sighting shows. Valid only during the call of `decode`. */
export interface DecodeContext {
  readonly record: RecordKind;
  /** Of an event: discriminator and Borsh body, as logged or sent by self-CPI (without the CPI tag). Of an instruction: its data. Empty for text. */
  readonly data: Uint8Array;
  /** Logged text with its prefix; null for bytes. */
  readonly text: string | null;
  /** The instruction that emitted it, or that it is; null if the sighting has only logs. */
  instruction(): EmittingInstruction | null;
  /** Null if the sighting has only logs. */
  readonly feePayer: string | null;
  /** Null if the sighting has only logs, or the node did not record the balances. */
  readonly tokenBalances: readonly TokenBalance[] | null;
}

export interface EmittingInstruction extends TransactionInstruction {
  /** All inner instructions of the same top-level instruction, in order. */
  readonly inner: readonly TransactionInnerInstruction[];
  /** Its index in `inner`; -1 for the top-level instruction itself. */
  readonly at: number;
}

/**
 * `ignored`: known, but not used. `unknown`: a discriminator that the venue's code does not list. `malformed`: too short, or with invalid values.
 * `incomplete`: the event needs its instruction, and the sighting has only logs; ingest then fetches the whole transaction.
 */
export type DecodeOutcome =
  | { readonly kind: 'decoded' }
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'ignored'; readonly name: string }
  | { readonly kind: 'unknown'; readonly discriminator: string }
  | { readonly kind: 'malformed'; readonly reason: string };

/** A pool that only the program's own migration can open at this address: the main pool of its mint. Its account shows whether it exists. */
export interface DerivedPool {
  readonly address: string;
  /** Possible accounts of its base coin (one for each token program), and of its quote coin. Empty if the pool's own account shows its reserves. */
  readonly vaults: readonly string[];
}

/** Bytes of another account of the program; null if it was not read. */
export type ReadAccount = (address: string) => Uint8Array | null;

/** The account cannot be decoded without these other accounts of the program, such as a config. The caller reads them, once, and decodes again. */
export interface MoreAccounts {
  readonly kind: 'more';
  readonly addresses: readonly string[];
}

export type DecodedAccount =
  | { readonly kind: 'decoded'; readonly account: VenueAccount }
  | MoreAccounts
  | { readonly kind: 'ignored'; readonly name: string }
  | { readonly kind: 'unknown'; readonly discriminator: string }
  | { readonly kind: 'malformed'; readonly reason: string };

export type VenueEvent =
  | VenueTrade
  | TokenCreated
  | PoolCreated
  | LiquidityChanged
  | LiquidityLocked
  | CurveCompleted
  | CurveMigrated
  | ReservesChanged;
export type VenueAccount = CurveAccount | PoolAccount;

/** The price is virtualQuote / virtualBase, and real* is what trades can take out (no fees that wait in the vaults), all after the event. */
export interface PoolReserves {
  readonly virtualBase: bigint;
  readonly virtualQuote: bigint;
  readonly realBase: bigint;
  readonly realQuote: bigint;
}

/** The price and depth of a pool after an event. */
export interface PriceState {
  /** Raw quote for raw base, exactly `priceQuote / priceBase`. Invalid unless both are above 0. */
  readonly priceQuote: bigint;
  readonly priceBase: bigint;
  /** Null for a pool whose price does not follow from reserves. */
  readonly reserves: PoolReserves | null;
  /** Depth: raw quote that sellers receive until the price has fallen by 1 %, without fees. Null if unknown, or if it follows from `reserves`. */
  readonly depth: bigint | null;
}

export interface FeePart {
  readonly amount: bigint;
  /** Rounded, if the event contains no rate. */
  readonly bps: number;
}

/**
 * Charged in addition to the amount through the pool. Events often contain no mints, so a fee names the side of the pair in which it was charged.
 *
 * The rule for all amounts: of the coin that the trader gives, he pays the amount plus the fees in that coin; of the other coin, he receives the amount
 * less the fees in that coin. A coin that takes a fee from transfers (Token-2022) adds a fee of the kind `transfer`, in each direction. So an amount is
 * what the pool's formula counts: what reached the pool less its fees, or what left the pool before the coin took its part.
 */
export interface Fee extends FeePart {
  readonly kind: FeeKind;
  readonly coin: 'base' | 'quote';
}

/** Numbers of an account that transactions do not show, such as the width of a pool's bins or the rates of a fee tier. */
export type AccountConstants = Readonly<Record<string, bigint>>;
export type DecodedConstants =
  /** `further`: accounts that add numbers, such as a depth. No event waits for them, and they are read again from time to time. */
  | { readonly kind: 'decoded'; readonly constants: AccountConstants; readonly further?: readonly string[] }
  | MoreAccounts
  | { readonly kind: 'malformed'; readonly reason: string };

/** What a trade or a creation needs that its transaction does not show. */
export interface EventNeeds {
  /** The pool, which is read once, or an account that many pools share, which is read again from time to time. Only events of the same pool wait. */
  readonly account: string;
  /** What the venue needs in addition to the event, as it numbers it. An event is plain data, so that threads can pass it on. */
  readonly facts: readonly bigint[];
}

export interface Pair {
  readonly baseMint: string;
  readonly quoteMint: string;
}

export interface VenueTrade extends PriceState {
  readonly type: 'trade';
  readonly pool: string;
  /** Both mints in the program's order. Null if the record and its transaction do not show them; then the pool's account does. */
  readonly pair: Pair | null;
  readonly side: 'buy' | 'sell';
  /** The user account of the swap instruction. */
  readonly trader: string;
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  /** The price before the trade, as in `PriceState`; null if the event does not show it. */
  readonly before: Pick<PriceState, 'priceQuote' | 'priceBase'> | null;
  readonly fees: readonly Fee[];
  /** What the trader paid (buy) or did not receive (sell) in the quote coin beyond the amount through the pool. */
  readonly feeTotal: bigint;
  /** Supply of the base coin, if the event contains it. */
  readonly supply: bigint | null;
  /** Unix seconds of the chain's clock; null if the event has none. */
  readonly timestamp: number | null;
  /** Absent if the transaction shows all of the trade. */
  readonly needs?: EventNeeds;
}

export interface TokenCreated extends TokenTerms {
  readonly type: 'created';
  readonly mint: string;
  readonly quoteMint: string;
  readonly pool: string;
  readonly name: string;
  readonly symbol: string;
  readonly uri: string;
  readonly creator: string;
  /** The config account of the launch platform; null if the venue has none. */
  readonly platform: string | null;
  readonly trader: string;
  /** Null if the event's layout did not contain it yet. */
  readonly tokenProgram: string | null;
  readonly supply: bigint;
  readonly decimals: number;
  /** Not null, because the published `newToken` has reserves. A curve without reserves needs a change of that schema first. */
  readonly reserves: PoolReserves;
  readonly timestamp: number | null;
  /** Absent if the transaction shows all of the creation. */
  readonly needs?: EventNeeds;
}

/** What a venue records about a token. An ordinary pool has `noTerms`. */
export interface TokenTerms {
  /** Names of the token's special properties, as its venue defines them. */
  readonly traits: readonly string[];
  /** Only the mint's account shows the correct supply: events have none, or it changes without them. */
  readonly supplyByMint: boolean;
  /** Creator fee that was set for this token; 0 if there is none. General, because clients get it with each new token. */
  readonly creatorFeeBps: number;
}

/** A pool was opened; `base` and `quote` are in the program's order. */
export interface PoolCreated {
  readonly type: 'poolCreated';
  readonly pool: string;
  readonly baseMint: string;
  readonly quoteMint: string;
  /** Null if the transaction does not show them. */
  readonly baseDecimals: number | null;
  readonly quoteDecimals: number | null;
  /** Null for a pool whose price does not follow from reserves. */
  readonly reserves: PoolReserves | null;
  /** Of such a pool: its first price, and what it holds; null if it opens empty. Absent if the transaction does not show the price. */
  readonly opening?: { readonly state: PriceState; readonly held: PoolAmounts | null };
  readonly creator: string;
  readonly timestamp: number | null;
}

/** Raw amounts of both coins of a pool, in the program's order. */
export interface PoolAmounts {
  readonly base: bigint;
  readonly quote: bigint;
}

/** Somebody put liquidity into a pool, or took it out. Trades and collected fees are no such events. */
export interface LiquidityChanged {
  readonly type: 'liquidityAdded' | 'liquidityRemoved';
  readonly pool: string;
  /** Both mints in the program's order; null as in a trade. */
  readonly pair: Pair | null;
  /** The account that owned the liquidity: the user of the instruction. */
  readonly provider: string;
  /** What reached the vaults, or left them, in the program's order. Collected fees do not count. */
  readonly baseAmount: bigint;
  readonly quoteAmount: bigint;
  /**
   * LP tokens that were made or burned. For positions: units of liquidity, if all positions of the pool have the same range, and otherwise null.
   */
  readonly lpAmount: bigint | null;
  /**
   * What the pool has afterwards, without fees that wait in the vaults. Null if the transaction does not show it. If `lpAmount` is null, it is what the
   * vaults hold after the transaction, because nothing shows the fees of each position.
   */
  readonly left: PoolAmounts | null;
  /** Price and depth afterwards; null if the transaction does not show them. */
  readonly state: PriceState | null;
  readonly timestamp: number | null;
}

/** Somebody locked liquidity in the program, for a time or for good. Clients get it with the pool or liquidity of the same transaction. */
export interface LiquidityLocked {
  readonly type: 'liquidityLocked';
  readonly pool: string;
  /** As in `LiquidityChanged`. */
  readonly lpAmount: bigint;
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
  /** Quote coins that were charged to the curve in addition to those that moved. */
  readonly fee: bigint;
  readonly timestamp: number | null;
}

/** The venue changed the reserves without a trade: it set new virtual reserves, or bought tokens and burned them. */
export interface ReservesChanged {
  readonly type: 'reserves';
  readonly pool: string;
  readonly mint: string;
  readonly reserves: ChangedReserves;
  /** Tokens that were removed from the supply. */
  readonly burned: bigint;
  readonly timestamp: number | null;
}

/** Base reserves are null if the event does not contain them: they did not change. Without a virtual quote there is no price. */
export interface ChangedReserves {
  readonly virtualBase: bigint | null;
  readonly virtualQuote: bigint;
  readonly realBase: bigint | null;
  readonly realQuote: bigint;
}

/** Fields of a bonding curve's account. */
export interface CurveAccount extends TokenTerms {
  readonly type: 'curve';
  /** The coin of the curve; null if the account does not name it. Then `derivedPools` of the coin has this account. */
  readonly baseMint: string | null;
  readonly quoteMint: string;
  readonly reserves: PoolReserves;
  /** Null if `supplyByMint`. */
  readonly supply: bigint | null;
  readonly complete: boolean;
  readonly goal: CurveGoal;
  readonly creator: string;
}

/** How far a curve has come: it is complete when this reserve has gone from `from` to `to`. */
export interface CurveGoal {
  readonly reserve: 'realBase' | 'realQuote';
  readonly from: bigint;
  readonly to: bigint;
}

/** Fields of a pool's account. */
export interface PoolAccount extends TokenTerms {
  readonly type: 'pool';
  readonly baseMint: string;
  readonly quoteMint: string;
  readonly baseVault: string;
  readonly quoteVault: string;
  /** Owner of the vaults; null if the pool itself owns them. */
  readonly vaultOwner: string | null;
  /** Creator of the token; null if the pool does not name one. */
  readonly tokenCreator: string | null;
  /** Null if the price follows from the balances of the vaults. */
  readonly price: PriceState | null;
  /** Added to the balances of the vaults for the price; negative if a part of a balance is not liquidity, such as fees that wait. */
  readonly virtualBase: bigint;
  readonly virtualQuote: bigint;
}
