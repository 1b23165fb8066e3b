import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { flipPrice } from '../seam/price.ts';
import { ownedData, quoteFault } from '../seam/quoting.ts';
import type { AccountLookup, QuotedPool, QuoteFault, QuoteMoment, VenueQuoting } from '../seam/quoting.ts';
import type { BuiltTrade, TradeOrder } from '../seam/trading.ts';
import type { Fee, PriceState } from '../seam/venue.ts';
import { malformed } from './decode.ts';
import { quotePool, type PoolSwap } from './pool-quote.ts';
import { builtSwap, type SwapOrder, type SwapParts } from './swap-order.ts';
import { coinsOf } from './swap-trade.ts';

type SwapCoins = Readonly<Record<'in' | 'out', Fee['coin']>>;

/** A pool of coins 0 and 1. Coin 0 is the base. */
export interface PairState {
  readonly price: PriceState;
  /** `amount` reaches the vault, or leaves it if `exactIn` is false. `coins` are the names of what comes in and goes out, for the fees. */
  swap(amount: bigint, exactIn: boolean, pays0: boolean, coins: SwapCoins, at: QuoteMoment): PoolSwap | QuoteFault;
  /** The pool with these reserves of coins 0 and 1, as a trade leaves it. Absent: the price depends on more. */
  after?(reserve0: bigint, reserve1: bigint): PairState;
}

/** A program whose pools name both of their coins, and are not found by them. Either coin may be the token that is traded. */
export interface PairVenue<Pool> {
  readonly programId: string;
  /** Null if the bytes are not a pool. */
  decode(data: Uint8Array): Pool | null;
  coins(pool: Pool): readonly [string, string];
  /** What is wrong with a field of the pool; null for nothing. */
  fault?(pool: Pool): string | null;
  /** The fee of the pool cannot be computed. */
  hasUnknownFee?(pool: Pool): boolean;
  isClosed?(pool: Pool, unixTimeS: number, slot: number): boolean;
  /** Further accounts on which a swap depends. They are read in a second round. */
  needs(pool: Pool, address: string): readonly string[];
  /** A text says why these accounts cannot be used. */
  open(pool: Pool, address: string, accounts: AccountLookup): PairState | string;
  /** The instruction of an order; absent if no orders are sent to the venue. */
  build?(pool: Pool, address: string, swap: SwapOrder): SwapParts;
}

/** What is in a vault of this coin; null if the account is another one. */
export function heldBy(owner: string, vault: string, mint: string, accounts: AccountLookup): bigint | null {
  const account = accounts(vault);
  const decoded = account === null ? null : decodeTokenAccount(account.owner, account.data);
  return decoded !== null && decoded.owner === owner && decoded.mint === mint ? decoded.amount : null;
}

export function pairQuoting<Pool>(venue: PairVenue<Pool>): VenueQuoting {
  return {
    settings: [],
    countsTransferFees: true,
    accountsOf: () => null,
    open(mint, [address, ...others], accounts, mintOf) {
      const data = ownedData(accounts, address, venue.programId);
      const pool = data === null ? null : venue.decode(data);
      const coins: readonly string[] = pool === null ? [] : venue.coins(pool);
      const place = coins.indexOf(mint.address);
      if (data === null || pool === null || place === -1) return { kind: 'absent' };
      const fault = venue.fault?.(pool) ?? null;
      if (fault !== null) return malformed(fault);
      const quoteMint = coins[1 - place]!;
      const build = (order: TradeOrder): BuiltTrade => {
        if (venue.build === undefined) throw new TypeError('Orders on this venue are not supported.');
        const built = builtSwap(order, mint.address, quoteMint, (swap) => venue.build!(pool, address, swap));
        return { ...built, poolAccount: data };
      };
      const shown = { address, quoteMint, curve: false, complete: false, reserves: null, build };
      if (venue.hasUnknownFee?.(pool) === true) return { kind: 'open', pool: { ...shown, quote: () => quoteFault('unknown_fee') } };
      const needed = venue.needs(pool, address);
      if (!needed.every((account) => others.includes(account))) return { kind: 'more', addresses: needed };
      const state = venue.open(pool, address, accounts);
      if (typeof state === 'string') return malformed(state);
      const [token, money] = [mint.transferFee, mintOf(quoteMint)?.transferFee ?? null];
      const poolWith = (now: PairState): QuotedPool => {
        const price = place === 0 ? now.price : flipPrice(now.price);
        const swapAt =
          (at: QuoteMoment) =>
          (amount: bigint, exactIn: boolean, isBuy: boolean): PoolSwap | QuoteFault =>
            now.swap(amount, exactIn, isBuy !== (place === 0), coinsOf(!isBuy), at);
        return {
          ...shown,
          reserves: price.reserves,
          quote: (trade, at) =>
            venue.isClosed?.(pool, at.unixTimeS, at.slot) === true
              ? quoteFault('disabled')
              : quotePool({ price, token, money, swap: swapAt(at) }, trade, at.slot),
          after: ({ after }) => {
            if (after === null || now.after === undefined) return null;
            const { virtualBase: base, virtualQuote: quote } = after;
            return poolWith(place === 0 ? now.after(base, quote) : now.after(quote, base));
          },
        };
      };
      return { kind: 'open', pool: poolWith(state) };
    },
  };
}
