import type { TransferFees } from '@sluice/shared/solana/tokens/token-extensions.ts';
import { feesIn } from './fee.ts';
import type { BuiltTrade, TradeOrder } from './trading.ts';
import type { Fee, PoolReserves } from './venue.ts';

/** Quotes with the program's integers and rounding. Pure: a caller that holds current accounts can quote without any request. */

/** An account as read, or as a subscription reported it. */
export interface AccountBytes {
  readonly owner: string;
  readonly data: Uint8Array;
}
export interface LookedUpAccount extends AccountBytes {
  readonly lamports: bigint;
}
/** Null if the account does not exist. */
export type AccountLookup = (address: string) => LookedUpAccount | null;

/** The properties of a token's mint that affect the price and the fees. */
export interface QuotedMint {
  readonly address: string;
  readonly decimals: number;
  readonly supply: bigint;
  /** What the coin withholds from transfers; null if it withholds nothing. `transferFeeAt` gives the fee of a slot. */
  readonly transferFee: TransferFees | null;
}

/** When a trade would be executed: fees of some programs and of some coins depend on it. */
export interface QuoteMoment {
  readonly slot: number;
  readonly unixTimeS: number;
}

export type MintLookup = (address: string) => QuotedMint | null;

export type QuoteAccounts = readonly [pool: string, ...others: string[]];

export interface VenueQuoting {
  /** Accounts with the program's settings, the same for all its pools and seldom changed. */
  readonly settings: readonly string[];
  /** Quotes count what the coins withhold from transfers. Otherwise, such coins are not quoted on this venue. */
  readonly countsTransferFees: boolean;
  /**
   * Accounts that a quote of this pair needs besides the settings and the mint; the pool comes first. Null if the pool's address does not
   * follow from the pair; then the caller must know the pool. Deriving addresses takes about 0.1 ms each, so callers cache them. Throws
   * TypeError if an argument is not an address.
   */
  accountsOf(mint: string, quoteMint: string): QuoteAccounts | null;
  /**
   * Builds the state of a pool. `addresses` are those that were read, the pool first; `accounts` contains them and the settings. If the
   * pool needs other accounts, `open` returns their addresses. The caller then reads the pool and these again in one call, so that all are
   * of one slot. A pool that does not trade this mint is absent. `mintOf` gives the other coin of a pool; null if its account was not read.
   */
  open(mint: QuotedMint, addresses: QuoteAccounts, accounts: AccountLookup, mintOf: MintLookup): OpenedPool;
}

/** `absent`: the pool does not exist. `more`: the pool needs these other accounts, some of which were not read. */
export type OpenedPool =
  | { readonly kind: 'open'; readonly pool: QuotedPool }
  | { readonly kind: 'more'; readonly addresses: readonly string[] }
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed'; readonly reason: string };

/** One pool at one moment. */
export interface QuotedPool {
  readonly address: string;
  readonly quoteMint: string;
  /** It is a bonding curve, which ends when everything is sold. */
  readonly curve: boolean;
  /** Everything is sold: this curve accepts no more trades. */
  readonly complete: boolean;
  /** It is complete and known to have moved to a pool. */
  readonly migrated?: boolean;
  /** Null if the price does not follow from reserves. */
  readonly reserves: PoolReserves | null;
  /** The result of this trade on the pool's state, at this moment. */
  readonly quote: (trade: QuotedTrade, at: QuoteMoment) => QuoteOutcome;
  /** The pool as a trade with this quote leaves it. Absent, or null: that does not follow from the quote. */
  readonly after?: (quote: Quote) => QuotedPool | null;
  /** The instruction of a trade. Throws TypeError if an address of the order is invalid, or if the venue signs no trades. */
  readonly build: (order: TradeOrder) => BuiltTrade;
}

/** `quoteIn`: an amount to spend, all fees included. `baseOut`: tokens to receive. `baseIn`: tokens to sell. Raw integers. */
export type QuotedTrade = { readonly exact: 'quoteIn' | 'baseOut' | 'baseIn'; readonly amount: bigint };

/**
 * `complete`: the curve has sold everything. `disabled`: the program's settings forbid this side. `too_small`: after fees nothing is left.
 * `too_large`: more than the pool has or one trade can move, or than a u64 can hold. `unknown_fee`: the pool's fee cannot be computed.
 */
export type QuoteFault = 'complete' | 'disabled' | 'too_small' | 'too_large' | 'unknown_fee';
export type QuoteOutcome = { readonly ok: true; readonly quote: Quote } | { readonly ok: false; readonly fault: QuoteFault };

export interface Quote {
  readonly side: 'buy' | 'sell';
  /** What the trader receives (buy) or gives in all (sell). */
  readonly baseAmount: bigint;
  /** The amount through the pool, without fees. */
  readonly quoteAmount: bigint;
  /** All that the trader pays (buy) or receives (sell). */
  readonly traderQuote: bigint;
  readonly fees: readonly Fee[];
  /** What the trader pays (buy) or does not receive (sell) in the quote coin beyond `quoteAmount`. */
  readonly feeTotal: bigint;
  /** The pool's price before the trade: raw quote for raw base, exactly `priceQuote / priceBase`. */
  readonly priceQuote: bigint;
  readonly priceBase: bigint;
  /** Null if the price does not follow from reserves. */
  readonly before: PoolReserves | null;
  readonly after: PoolReserves | null;
  /** The curve had no more tokens than this, so less is spent than offered. */
  readonly cut: boolean;
  /** This buy completes the curve. */
  readonly completes: boolean;
}

export const maxU64 = (1n << 64n) - 1n;
const basisPoints = 10_000n;

/** The smallest amount to receive and the largest to pay, never looser than the slippage allows. What the trader stated is exact. */
export function slippageBounds(
  trade: QuotedTrade,
  quote: Pick<Quote, 'baseAmount' | 'traderQuote'>,
  slippageBps: bigint,
): { readonly minOut: bigint; readonly maxIn: bigint } {
  const least = (amount: bigint): bigint => (amount * (basisPoints - slippageBps) + basisPoints - 1n) / basisPoints;
  if (trade.exact === 'quoteIn') return { minOut: least(quote.baseAmount), maxIn: trade.amount };
  if (trade.exact === 'baseIn') return { minOut: least(quote.traderQuote), maxIn: trade.amount };
  const most = (quote.traderQuote * (basisPoints + slippageBps)) / basisPoints;
  return { minOut: quote.baseAmount, maxIn: most < maxU64 ? most : maxU64 };
}

/** How much worse the average price of the trade is than the pool's price before it, without fees; in basis points, rounded up. */
export function priceImpactBps(quote: Pick<Quote, 'side' | 'baseAmount' | 'quoteAmount' | 'fees' | 'priceQuote' | 'priceBase'>): number {
  const { side, baseAmount, quoteAmount, fees, priceQuote, priceBase } = quote;
  // What went through the pool.
  const base = side === 'buy' ? baseAmount + feesIn('base', fees) : baseAmount - feesIn('base', fees);
  const atPrice = base * priceQuote;
  const worse = side === 'buy' ? quoteAmount * priceBase - atPrice : atPrice - quoteAmount * priceBase;
  if (worse <= 0n || atPrice === 0n) return 0;
  return Number((worse * basisPoints + atPrice - 1n) / atPrice);
}

export function quoteFault(fault: QuoteFault): QuoteOutcome {
  return { ok: false, fault };
}

/** Bytes of an account that this program owns; empty if it is missing or another program owns it. */
export function ownedData(accounts: AccountLookup, address: string, owner: string): Uint8Array | null {
  const account = accounts(address);
  return account?.owner === owner ? account.data : null;
}

/** Every quote needs the settings, and they seldom change. So the bytes of one account are decoded only once. They must not be modified. */
export function decodedOnce<T, D extends object = Uint8Array>(decode: (data: D) => T): (data: D) => T {
  const known = new WeakMap<D, T>();
  return (data) => {
    const found = known.get(data);
    if (found !== undefined) return found;
    const decoded = decode(data);
    known.set(data, decoded);
    return decoded;
  };
}
