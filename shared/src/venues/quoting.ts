import type { BuiltTrade, TradeOrder } from './trading.ts';
import type { Fee, PoolReserves } from './venue.ts';

/**
 * Quotes: what a trade gives and costs, in the integers of the program, rounded as it rounds. Pure; whoever keeps the state of
 * the accounts fresh can quote without asking anybody.
 */

/** An account as it was read, or as a subscription told it. */
export interface AccountBytes {
  readonly owner: string;
  readonly data: Uint8Array;
}
/** Null where there is no such account. */
export type AccountLookup = (address: string) => AccountBytes | null;

/** What of a token's mint the price and the fees depend on. */
export interface QuotedMint {
  readonly address: string;
  readonly decimals: number;
  readonly supply: bigint;
}

export type QuoteAccounts = readonly [pool: string, ...others: string[]];

export interface VenueQuoting {
  /** Settings of the program, the same for all its pools and seldom changed. */
  readonly settings: readonly string[];
  /**
   * Accounts beside the settings and the mint that the quote of this pair needs; the pool comes first. Null if the pool's address does not
   * follow from the pair: then the pool must be known. Derives addresses (about 0.1 ms each): callers keep them. Throws TypeError where an
   * argument is no address.
   */
  accountsOf(mint: string, quoteMint: string): QuoteAccounts | null;
  /**
   * Puts the state of a pool together. `addresses` are those that were read, the pool first, and `accounts` knows them and the settings. If
   * the pool needs others, `open` names them: the caller reads all of them again, in one call, so that they are of one slot.
   */
  open(mint: QuotedMint, addresses: QuoteAccounts, accounts: AccountLookup): OpenedPool;
}

/** `absent`: there is no such pool. `more`: these accounts are needed too, and were not among those that were read. */
export type OpenedPool =
  | { readonly kind: 'open'; readonly pool: QuotedPool }
  | { readonly kind: 'more'; readonly addresses: readonly string[] }
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed'; readonly reason: string };

/** One pool at one moment. */
export interface QuotedPool {
  readonly address: string;
  readonly quoteMint: string;
  /** A bonding curve: it ends when everything is sold. */
  readonly curve: boolean;
  /** Everything was sold: nothing trades here any more. */
  readonly complete: boolean;
  /** Null if the price does not follow from reserves. */
  readonly reserves: PoolReserves | null;
  /** What this trade would do now. */
  readonly quote: (trade: QuotedTrade) => QuoteOutcome;
  /** The instruction of a trade, from the same state. Throws TypeError if an address of the order is none, or if the venue signs no trades. */
  readonly build: (order: TradeOrder) => BuiltTrade;
}

/** `quoteIn`: a sum to spend, all fees inside. `baseOut`: tokens to get. `baseIn`: tokens to give. Raw integers. */
export type QuotedTrade = { readonly exact: 'quoteIn' | 'baseOut' | 'baseIn'; readonly amount: bigint };

/**
 * `complete`: the curve sold everything. `disabled`: the program's settings forbid this side. `too_small`: nothing would be left
 * of it. `too_large`: more than the pool has, or than a u64 holds.
 */
export type QuoteFault = 'complete' | 'disabled' | 'too_small' | 'too_large';
export type QuoteOutcome = { readonly ok: true; readonly quote: Quote } | { readonly ok: false; readonly fault: QuoteFault };

export interface Quote {
  readonly side: 'buy' | 'sell';
  readonly baseAmount: bigint;
  /** Through the pool, fees apart. */
  readonly quoteAmount: bigint;
  /** What the trader pays in all (buy) or receives (sell). */
  readonly traderQuote: bigint;
  readonly fees: readonly Fee[];
  /** What the trader pays (buy) or does not receive (sell) in the quote coin beside `quoteAmount`. */
  readonly feeTotal: bigint;
  /** The pool's price before the trade: raw quote for raw base, exactly `priceQuote / priceBase`. */
  readonly priceQuote: bigint;
  readonly priceBase: bigint;
  /** Null if the price does not follow from reserves. */
  readonly before: PoolReserves | null;
  readonly after: PoolReserves | null;
  /** The curve had no more than this; less is spent than was offered. */
  readonly cut: boolean;
  /** This buy completes the curve. */
  readonly completes: boolean;
}

export const maxU64 = (1n << 64n) - 1n;
const basisPoints = 10_000n;

/**
 * Least to get and most to give, rounded so that the bound is never looser than the slippage says. What the trader named is
 * exact, and so bounds itself.
 */
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

/** How much worse than the pool's price before it the trade is on average, fees apart; basis points, rounded up. */
export function priceImpactBps({
  side,
  baseAmount,
  quoteAmount,
  priceQuote,
  priceBase,
}: Pick<Quote, 'side' | 'baseAmount' | 'quoteAmount' | 'priceQuote' | 'priceBase'>): number {
  const atPrice = baseAmount * priceQuote;
  const worse = side === 'buy' ? quoteAmount * priceBase - atPrice : atPrice - quoteAmount * priceBase;
  if (worse <= 0n || atPrice === 0n) return 0;
  return Number((worse * basisPoints + atPrice - 1n) / atPrice);
}

export function quoteFault(fault: QuoteFault): QuoteOutcome {
  return { ok: false, fault };
}

/** Bytes of an account that this program owns; none where it is missing or another's. */
export function ownedData(accounts: AccountLookup, address: string, owner: string): Uint8Array | null {
  const account = accounts(address);
  return account?.owner === owner ? account.data : null;
}

/** Settings stand behind every market and change seldom: bytes of an account, which nobody changes, are decoded once. */
export function decodedOnce<T>(decode: (data: Uint8Array) => T): (data: Uint8Array) => T {
  const known = new WeakMap<Uint8Array, T>();
  return (data) => {
    const found = known.get(data);
    if (found !== undefined) return found;
    const decoded = decode(data);
    known.set(data, decoded);
    return decoded;
  };
}
