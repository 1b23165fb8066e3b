import { quoteCoins } from '@sluice/shared/money.ts';
import { decodeMint, type Mint } from '@sluice/shared/solana/mint.ts';
import type { QuoteAccounts, QuotedPool, AccountLookup } from '@sluice/shared/venues/quoting.ts';
import type { Venue } from '@sluice/shared/venues/venue.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';

/** Why the amounts of a coin cannot be told from its pool's. */
export type Unquotable = 'transfer_fee' | 'not_transferable';

/** A pool of a coin, and what its quote coin is. */
export interface TradedPool {
  readonly venue: Venue;
  readonly pool: QuotedPool;
  readonly quoteDecimals: number;
  readonly quoteTokenProgram: string;
}

/** A coin's pools on the venues that quote, of one moment. */
export interface TokenMarket {
  readonly decimals: number;
  readonly tokenProgram: string;
  /** In the order of the venues: the curve before the pool that it moves to. */
  readonly pools: readonly TradedPool[];
  readonly unquotable: Unquotable | null;
}

export type AssembledMarket =
  | { readonly kind: 'market'; readonly market: TokenMarket }
  /** The address is no mint. */
  | { readonly kind: 'no_mint' }
  /** Its pools are against a coin whose accounts were not among these: they are to be read too. */
  | { readonly kind: 'more'; readonly quoteMint: string }
  /** A pool needs further accounts, which its own account names: they are to be read too. */
  | { readonly kind: 'further'; readonly plan: MarketPlan }
  | { readonly kind: 'malformed'; readonly venue: string; readonly reason: string };

/** Where the pools of one coin with some quote coins are. */
export interface MarketPlan {
  readonly mint: string;
  readonly quoteMints: readonly string[];
  readonly pools: readonly { readonly venue: Venue; readonly quoteMint: string; readonly addresses: QuoteAccounts }[];
  /** All accounts to read, settings apart. */
  readonly addresses: readonly string[];
}

/** Derives some twelve addresses, about a millisecond. Throws TypeError where an argument is no address. */
export function planMarket(mint: string, quoteMints: readonly string[], venues: readonly Venue[]): MarketPlan {
  const pools = venues.flatMap((venue) =>
    quoteMints.flatMap((quoteMint) => {
      const { quoting } = venue;
      const addresses = quoting?.accountsOf(mint, quoteMint) ?? null;
      return addresses === null ? [] : [{ venue, quoteMint, addresses }];
    }),
  );
  return planOf(mint, quoteMints, pools);
}

/** The same with one of its quote coins alone. */
export function narrowPlan({ mint, pools }: MarketPlan, quoteMint: string): MarketPlan {
  return planOf(
    mint,
    [quoteMint],
    pools.filter((pool) => pool.quoteMint === quoteMint),
  );
}

/** The same with further accounts of one of its pools. */
function widenPlan({ mint, quoteMints, pools }: MarketPlan, pool: string, further: readonly string[]): MarketPlan {
  const wider = pools.map((one) => (one.addresses[0] === pool ? { ...one, addresses: withFurther(one.addresses, further) } : one));
  return planOf(mint, quoteMints, wider);
}

function withFurther([pool, ...others]: QuoteAccounts, further: readonly string[]): QuoteAccounts {
  return [pool, ...new Set([...others, ...further])];
}

function planOf(mint: string, quoteMints: readonly string[], pools: MarketPlan['pools']): MarketPlan {
  const unusual = quoteMints.filter((quoteMint) => !quoteCoins.has(quoteMint));
  return { mint, quoteMints, pools, addresses: [...new Set([mint, ...unusual, ...pools.flatMap(({ addresses }) => addresses)])] };
}

/** Puts a market together from accounts of one moment. Never throws. */
export function assembleMarket(plan: MarketPlan, accounts: AccountLookup): AssembledMarket {
  const { mint, quoteMints, pools } = plan;
  const decoded = mintAt(accounts, mint);
  if (decoded === null) return { kind: 'no_mint' };
  const coin = { address: mint, decimals: decoded.decimals, supply: decoded.supply };
  const opened = new Map<string, TradedPool>();
  let unquotable = unquotableBy(decoded);
  for (const { venue, addresses } of pools) {
    if (opened.has(addresses[0])) continue;
    const result = venue.quoting!.open(coin, addresses, accounts);
    if (result.kind === 'malformed') return { kind: 'malformed', venue: venue.name, reason: result.reason };
    if (result.kind === 'absent') continue;
    if (result.kind === 'more') return { kind: 'further', plan: widenPlan(plan, addresses[0], result.addresses) };
    const { quoteMint } = result.pool;
    if (!quoteMints.includes(quoteMint)) return { kind: 'more', quoteMint };
    let quoteDecimals = quoteCoins.get(quoteMint)?.decimals;
    // The usual ones are of the older program.
    let quoteTokenProgram = tokenProgram;
    if (quoteDecimals === undefined) {
      const quoteCoin = mintAt(accounts, quoteMint);
      if (quoteCoin === null) return { kind: 'malformed', venue: venue.name, reason: 'the quote coin is no mint' };
      unquotable ??= unquotableBy(quoteCoin);
      quoteDecimals = quoteCoin.decimals;
      quoteTokenProgram = quoteCoin.tokenProgram;
    }
    opened.set(addresses[0], { venue, pool: result.pool, quoteDecimals, quoteTokenProgram });
  }
  const { decimals, tokenProgram: ownTokenProgram } = decoded;
  return { kind: 'market', market: { decimals, tokenProgram: ownTokenProgram, pools: [...opened.values()], unquotable } };
}

function mintAt(accounts: AccountLookup, address: string): Mint | null {
  const account = accounts(address);
  return account === null ? null : decodeMint(account.owner, account.data);
}

/** A fee of this epoch or the next: what arrives is less than what was sent. */
function unquotableBy({ extensions: { transferFee, nonTransferable } }: Mint): Unquotable | null {
  if (transferFee !== null && (transferFee.older.bps > 0 || transferFee.newer.bps > 0)) return 'transfer_fee';
  return nonTransferable ? 'not_transferable' : null;
}
