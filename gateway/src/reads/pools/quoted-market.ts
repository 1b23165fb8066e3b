import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { decodeMint, type Mint } from '@sluice/shared/solana/tokens/mint.ts';
import { associatedAccountBytes, tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import type { AccountLookup, QuoteAccounts, QuotedMint, QuotedPool } from '@sluice/venues/seam/quoting.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';

/** Pools of the directory in one market: the deepest. With six tick arrays for each, one read stays below 100 accounts. */
const maxHints = 4;
/** Anybody can open a pool at any price. One that has less than this part of the depth of another one says nothing about a coin. */
export const shallowPart = 0.1;

/** Why a coin cannot be quoted. `transfer_fee`: the coin takes a fee from transfers, and no venue of its pools counts that fee. */
export type Unquotable = 'transfer_fee' | 'not_transferable';

/** A pool of a coin, with the properties of its quote coin. */
export interface TradedPool {
  readonly venue: Venue;
  readonly pool: QuotedPool;
  readonly quoteDecimals: number;
  readonly quoteTokenProgram: string;
  /** Bytes of an associated token account of the quote coin. */
  readonly quoteAccountBytes: number;
  /** As the directory has it; 0 if unknown. Null for a derived pool, which only the program's own launch or migration can open. */
  readonly depthSol: number | null;
}

/** A coin's pools on the venues that are quoted, all of one moment. */
export interface TokenMarket {
  readonly decimals: number;
  readonly tokenProgram: string;
  /** Bytes of an associated token account of the coin. */
  readonly accountBytes: number;
  /** Derived ones in the order of the venues, the curve before the pool that it moves to; then those of the directory, deepest first. */
  readonly pools: readonly TradedPool[];
  /** Derived pools that are left out because their accounts could not be understood. */
  readonly malformed: number;
  /** Nearly all that the directory knows to be liquid of the coin is on venues without orders. */
  readonly isElsewhere: boolean;
  readonly unquotable: Unquotable | null;
}

export type AssembledMarket =
  | { readonly kind: 'market'; readonly market: TokenMarket }
  /** The address is no mint. */
  | { readonly kind: 'no_mint' }
  /** Its pools have a quote coin whose accounts were not read. They must be read too. */
  | { readonly kind: 'more'; readonly quoteMint: string }
  /** Its pools need further accounts, which their own accounts name. They must be read too. */
  | { readonly kind: 'further'; readonly plan: MarketPlan }
  | { readonly kind: 'malformed'; readonly venue: string; readonly reason: string };

export interface PlannedPool {
  readonly venue: Venue;
  readonly quoteMint: string;
  readonly addresses: QuoteAccounts;
  /** Depth of a pool that the directory named. Such a pool is only a hint: if its account is of another kind, the market is assembled without the pool. */
  readonly depthSol: number | null;
}

/** The pools of a coin with some quote coins, and the accounts to read for them. */
export interface MarketPlan {
  readonly mint: string;
  /** Quote coins of the derived pools. */
  readonly quoteMints: readonly string[];
  readonly pools: readonly PlannedPool[];
  readonly isElsewhere: boolean;
  /** All accounts to read, without the settings. */
  readonly addresses: readonly string[];
}

/** Derives about twelve addresses, which takes about a millisecond. Throws TypeError if an argument is no address. */
export function planMarket(mint: string, quoteMints: readonly string[], venues: readonly Venue[]): MarketPlan {
  const pools = venues.flatMap((venue) =>
    quoteMints.flatMap((quoteMint) => {
      const { quoting } = venue;
      const addresses = quoting?.accountsOf(mint, quoteMint) ?? null;
      return addresses === null ? [] : [{ venue, quoteMint, addresses, depthSol: null }];
    }),
  );
  return planOf({ mint, quoteMints, isElsewhere: false }, pools);
}

/** Whether the directory must name the venue's pools, because their addresses cannot be computed from the pair. Throws TypeError if an argument is no address. */
export function needsDirectory({ quoting }: Venue, mint: string, quoteMint: string): boolean {
  return quoting !== null && quoting.accountsOf(mint, quoteMint) === null;
}

/** Replaces the plan's pools of the directory by these. Further accounts that are known of a pool remain. */
export function withHints(plan: MarketPlan, known: readonly KnownPool[], venues: readonly Venue[]): MarketPlan {
  const { mint, pools } = plan;
  let [deepest, deepestElsewhere] = [0, 0];
  const hinted = known.flatMap(({ venue: name, address, quoteMint, depthSol }): PlannedPool[] => {
    const venue = venues.find((one) => one.name === name);
    // A curve that is over keeps its last depth. One that is open trades alone.
    if (venue === undefined || venue.signing === null) deepestElsewhere = Math.max(deepestElsewhere, depthSol);
    else if (venue.curves === null) deepest = Math.max(deepest, depthSol);
    if (venue === undefined || !isAddress(address) || !quoteCoins.has(quoteMint) || !needsDirectory(venue, mint, quoteMint)) return [];
    return [{ ...(pools.find((pool) => pool.addresses[0] === address) ?? { venue, quoteMint, addresses: [address] }), depthSol }];
  });
  const isElsewhere = deepest < deepestElsewhere * shallowPart;
  return planOf({ ...plan, isElsewhere }, [...pools.filter(isDerived), ...hinted.slice(0, maxHints)]);
}

export function isDerived({ depthSol }: Pick<PlannedPool, 'depthSol'>): boolean {
  return depthSol === null;
}

/** The plan with only one of its quote coins. Pools of the directory remain. */
export function narrowPlan(plan: MarketPlan, quoteMint: string): MarketPlan {
  return planOf(
    { ...plan, quoteMints: [quoteMint] },
    plan.pools.filter((pool) => !isDerived(pool) || pool.quoteMint === quoteMint),
  );
}

/** The plan with the derived pools of another quote coin. Pools of the directory remain. */
export function planWithQuoteCoin(plan: MarketPlan, quoteMint: string, venues: readonly Venue[]): MarketPlan {
  const derived = planMarket(plan.mint, [quoteMint], venues).pools;
  return planOf({ ...plan, quoteMints: [quoteMint] }, [...derived, ...plan.pools.filter((pool) => !isDerived(pool))]);
}

/** The plan with these further accounts for some of its pools. */
function widenPlan(plan: MarketPlan, further: ReadonlyMap<string, readonly string[]>): MarketPlan {
  const wider = plan.pools.map((one): PlannedPool => {
    const [pool] = one.addresses;
    const others = further.get(pool);
    return others === undefined ? one : { ...one, addresses: [pool, ...new Set(others)] };
  });
  return planOf(plan, wider);
}

function planOf({ mint, quoteMints, isElsewhere }: Omit<MarketPlan, 'pools' | 'addresses'>, pools: MarketPlan['pools']): MarketPlan {
  const unusual = quoteMints.filter((quoteMint) => !quoteCoins.has(quoteMint));
  const addresses = [...new Set([mint, ...unusual, ...pools.flatMap((pool) => pool.addresses)])];
  return { mint, quoteMints, pools, isElsewhere, addresses };
}

/** Assembles a market from accounts of one moment. A pool that cannot be opened is omitted; without any other, the market is malformed. Never throws. */
export function assembleMarket(plan: MarketPlan, accounts: AccountLookup): AssembledMarket {
  const decoded = mintAt(accounts, plan.mint);
  if (decoded === null) return { kind: 'no_mint' };
  const { decimals, tokenProgram: ownTokenProgram } = decoded;
  const coin = quotedMintOf(plan.mint, decoded);
  const mintOf = (address: string): QuotedMint | null => quotedMint(address, accounts);
  const opened = new Map<string, Pick<TradedPool, 'venue' | 'pool' | 'depthSol'>>();
  const further = new Map<string, readonly string[]>();
  const malformed: Extract<AssembledMarket, { kind: 'malformed' }>[] = [];
  for (const { venue, addresses, depthSol } of plan.pools) {
    const hinted = depthSol !== null;
    if (opened.has(addresses[0])) continue;
    const result = venue.quoting!.open(coin, addresses, accounts, mintOf);
    if (result.kind === 'absent' || (result.kind === 'malformed' && hinted)) continue;
    if (result.kind === 'malformed') {
      malformed.push({ kind: 'malformed', venue: venue.name, reason: result.reason });
      continue;
    }
    if (result.kind === 'more') {
      further.set(addresses[0], result.addresses);
      continue;
    }
    const { pool } = result;
    if (hinted && !quoteCoins.has(pool.quoteMint)) continue;
    if (!hinted && !plan.quoteMints.includes(pool.quoteMint)) return { kind: 'more', quoteMint: pool.quoteMint };
    opened.set(addresses[0], { venue, pool, depthSol });
  }
  if (further.size > 0) return { kind: 'further', plan: widenPlan(plan, further) };
  let unquotable: Unquotable | null = decoded.extensions.nonTransferable ? 'not_transferable' : null;
  let isWithheld = false;
  const pools: TradedPool[] = [];
  for (const { venue, pool, depthSol } of opened.values()) {
    let quoteDecimals = quoteCoins.get(pool.quoteMint)?.decimals;
    // The usual quote coins belong to the older token program.
    let quoteTokenProgram = tokenProgram;
    let quoteAccountBytes = tokenAccountBytes;
    let counts = venue.quoting!.countsTransferFees || !withholds(decoded);
    if (quoteDecimals === undefined) {
      const quoteCoin = mintAt(accounts, pool.quoteMint);
      if (quoteCoin === null) {
        malformed.push({ kind: 'malformed', venue: venue.name, reason: 'the quote coin is not a mint' });
        continue;
      }
      if (quoteCoin.extensions.nonTransferable) unquotable = 'not_transferable';
      counts &&= venue.quoting!.countsTransferFees || !withholds(quoteCoin);
      quoteDecimals = quoteCoin.decimals;
      quoteTokenProgram = quoteCoin.tokenProgram;
      quoteAccountBytes = associatedAccountBytes(quoteCoin);
    }
    isWithheld ||= !counts;
    if (counts) pools.push({ venue, pool, quoteDecimals, quoteTokenProgram, quoteAccountBytes, depthSol });
  }
  if (malformed[0] !== undefined && pools.length === 0) return malformed[0];
  if (isWithheld && pools.length === 0) unquotable ??= 'transfer_fee';
  const accountBytes = associatedAccountBytes(decoded);
  const own = { decimals, tokenProgram: ownTokenProgram, accountBytes, isElsewhere: plan.isElsewhere };
  return { kind: 'market', market: { ...own, pools, malformed: malformed.length, unquotable } };
}

function mintAt(accounts: AccountLookup, address: string): Mint | null {
  const account = accounts(address);
  return account === null ? null : decodeMint(account.owner, account.data);
}

function quotedMint(address: string, accounts: AccountLookup): QuotedMint | null {
  const coin = quoteCoins.get(address);
  if (coin !== undefined) return { address, decimals: coin.decimals, supply: 0n, transferFee: null };
  const mint = mintAt(accounts, address);
  return mint === null ? null : quotedMintOf(address, mint);
}

function quotedMintOf(address: string, mint: Mint): QuotedMint {
  const { decimals, supply, extensions } = mint;
  return { address, decimals, supply, transferFee: withholds(mint) ? extensions.transferFee : null };
}

/** In this epoch or the next one. */
function withholds({ extensions: { transferFee } }: Mint): boolean {
  return transferFee !== null && (transferFee.older.bps > 0 || transferFee.newer.bps > 0);
}
