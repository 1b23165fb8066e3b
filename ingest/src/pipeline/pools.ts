import type { MainPool, Mutable } from '@sluice/shared/market/pools/main-pool.ts';
import type { SettledPrice } from '@sluice/shared/market/pools/settled-price.ts';
import { isReversedPair, valuedCoins } from '@sluice/shared/wire/values/money.ts';
import type { TokenBalance } from '@sluice/shared/solana/transaction/inner-events.ts';
import type {
  AccountConstants,
  CurveMigrated,
  PoolCreated,
  PriceState,
  TokenCreated,
  Venue,
  VenueAccount,
  VenueEvent,
  VenueTrade,
} from '@sluice/venues/seam/venue.ts';
import { stateOfReserves } from '@sluice/venues/kit/constant-product.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';

/** Facts about a token, shared by all its pools. */
export interface Token {
  readonly mint: string;
  decimals: number | null;
  /** The transaction of which a report showed them; null for anything else. */
  taughtBy: string | null;
  /** Raw units; null until an event, the curve's account or the mint's account shows it. */
  supply: bigint | null;
  /** Only the mint's account shows the supply, which may change without an event. It is read again from time to time. */
  supplyByMint: boolean;
  /** When the mint's account was last read, Unix milliseconds; before any, very old. */
  supplyAtMs: number;
  tokenProgram: string | null;
  /** Null until a trade, a creation or a read of the chain shows it. */
  main: Mutable<MainPool> | null;
  /** The price that counts, in the quote coin of the main pool; null while none is known. */
  settled: SettledPrice | null;
  /** When the chain was read for it, Unix seconds; null if it was not. */
  mainReadS: number | null;
}

export interface Pool {
  venue: Venue;
  readonly address: string;
  /** A bonding curve, whose base is its token and whose account shows the supply. */
  isCurve: boolean;
  /** The traded token; null until an event, the account or the curve's derived address names it. */
  token: Token | null;
  quote: Token | null;
  /** The last transaction of which a report showed this pair; null if an account did. */
  taughtBy: string | null;
  /** The program's base is the money and its quote the token. */
  flipped: boolean;
  /** Supply from the curve's account, as in `CurveAccount`; undefined before the account was seen. */
  curveSupply: bigint | null | undefined;
  /** The price with which the pool was opened, or that its account showed before any was published; -1 if neither was seen. */
  openedBase: bigint;
  openedQuote: bigint;
  /** Slot and exact price (`tickQuote / tickBase`, as the program has the pair) of the last price published. */
  tickSlot: number;
  tickBase: bigint;
  tickQuote: bigint;
  /** Depth with that price, if its venue stated it; null if it follows from reserves, and -1 if it is unknown. */
  tickDepth: bigint | null;
  /** Virtual base, or real quote, after the last published trade, for the continuity check of curves; -1 before the first. */
  tradedReserve: bigint;
  /** The account was read, or requested for the price. */
  priceAsked: boolean;
  /** An account was requested to read the supply. */
  supplyAsked: boolean;
}

function newToken(mint: string, decimals: number | null): Token {
  const unread = { supply: null, supplyByMint: false, supplyAtMs: Number.NEGATIVE_INFINITY, tokenProgram: null };
  return { mint, decimals, taughtBy: null, ...unread, main: null, settled: null, mainReadS: null };
}

function newPool(venue: Venue, address: string): Pool {
  const untold = { token: null, quote: null, taughtBy: null, flipped: false, curveSupply: undefined, openedBase: -1n, openedQuote: -1n };
  const unpublished = { tickSlot: -1, tickBase: -1n, tickQuote: -1n, tickDepth: null, tradedReserve: -1n };
  return { venue, address, isCurve: venue.curves !== null, ...untold, ...unpublished, priceAsked: false, supplyAsked: false };
}

/** `supply` is null if the curve's account does not show the true one. */
function learnCurveSupply(token: Token, supply: bigint | null): void {
  if (supply === null) token.supplyByMint = true;
  else if (!token.supplyByMint) token.supply = supply;
}

/** The price of a pool of which none was published. */
function learnPrice(pool: Pool, { priceBase, priceQuote, reserves, depth }: PriceState): void {
  if (pool.tickBase >= 0n) return;
  pool.openedBase = priceBase;
  pool.openedQuote = priceQuote;
  pool.tickDepth = reserves === null ? (depth ?? -1n) : null;
}

/** Liquidity does not move the price. If an event of liquidity shows no price, and no price of the pool is known, the pool's account is read. */
export function needsPrice(pool: Pool, event: VenueEvent): boolean {
  const isLiquidity = event.type === 'liquidityAdded' || event.type === 'liquidityRemoved';
  return isLiquidity && event.state === null && pool.tickBase < 0n && pool.openedBase < 0n && !pool.priceAsked;
}

/** The numbers of an account that trades `need`, with when it was read. */
interface Constants {
  readonly constants: AccountConstants;
  /** They change: they are of an account that pools share, or of further accounts. */
  readonly changes: boolean;
  readAtMs: number;
}

/** The rates of a shared account change seldom. After this time, they are read again, and until then trades are published with the known ones. */
const constantsTtlMs = 600_000;

/** Facts about pools and mints, from events and accounts. No I/O. */
export class PoolBook {
  /** The transaction from whose report is learned; null if it is an account. */
  taughtBy: string | null = null;
  readonly #constants: Recent<Constants>;
  readonly #pools: Recent<Pool>;
  readonly #tokens: Recent<Token>;
  readonly #money = new Map<string, Token>([...valuedCoins.values()].map(({ mint, decimals }) => [mint, newToken(mint, decimals)]));

  /** `capacity`: remembered pools, mints and constants, of each kind. The least recently used one is forgotten, and read from the chain again. */
  constructor(capacity: number) {
    this.#constants = new Recent(capacity);
    this.#pools = new Recent(capacity);
    this.#tokens = new Recent(capacity);
  }

  get size(): number {
    return this.#pools.size;
  }

  token(mint: string): Token {
    const known = this.#money.get(mint) ?? this.#tokens.get(mint);
    if (known !== undefined) return known;
    const token = newToken(mint, null);
    this.#tokens.set(mint, token);
    return token;
  }

  pool(address: string): Pool | undefined {
    return this.#pools.get(address);
  }

  /** The numbers of an account that trades `need`; undefined if it was not read yet. */
  constants(address: string): AccountConstants | undefined {
    return this.#constants.get(address)?.constants;
  }

  learnConstants(address: string, constants: AccountConstants, hasFurther = false): void {
    this.#constants.set(address, { constants, changes: hasFurther || !this.#pools.has(address), readAtMs: performance.now() });
  }

  /** Whether numbers that change are to be read again. True only once, for the one who asks. */
  isDueAgain(address: string): boolean {
    const known = this.#constants.get(address);
    if (known?.changes !== true) return false;
    const nowMs = performance.now();
    if (nowMs - known.readAtMs < constantsTtlMs) return false;
    known.readAtMs = nowMs;
    return true;
  }

  /** The pool at an address; created if it is new. */
  poolAt(venue: Venue, address: string): Pool {
    const known = this.#pools.get(address);
    if (known !== undefined && (known.venue === venue || known.token !== null)) return known;
    const pool = Object.assign(known ?? {}, newPool(venue, address));
    this.#pools.set(address, pool);
    return pool;
  }

  /** The decimals of a pool's coins that a transaction's balances show. */
  learnDecimals(pool: Pool, balances: readonly TokenBalance[]): void {
    for (const coin of [pool.token, pool.quote]) {
      if (coin?.decimals === null) this.#setDecimals(coin, balances.find(({ mint }) => mint === coin.mint)?.decimals ?? null);
    }
  }

  #setDecimals(coin: Token, decimals: number | null): void {
    if (decimals !== null && !this.#money.has(coin.mint)) [coin.decimals, coin.taughtBy] = [decimals, this.taughtBy];
  }

  /**
   * Forgets what a transaction taught: the decimals of a coin, or the pair of a pool, with all that is known of its coins. Returns which pools used it; null
   * if there is nothing of the kind. Events that wait have the same objects.
   */
  unlearn(signature: string, pools: readonly Pool[]): ((address: string) => boolean) | null {
    const forgotten = new Set<Pool | Token | null | undefined>();
    for (const pool of pools) {
      const isTaught = pool.taughtBy === signature;
      for (const coin of [pool.token, pool.quote]) {
        if (coin === null || this.#money.has(coin.mint) || (!isTaught && coin.taughtBy !== signature)) continue;
        forgotten.add(Object.assign(coin, newToken(coin.mint, null)));
      }
      if (isTaught) forgotten.add(Object.assign(pool, newPool(pool.venue, pool.address)));
    }
    const usesAny = (pool?: Pool): boolean => [pool, pool?.token, pool?.quote].some((one) => forgotten.has(one));
    return forgotten.size === 0 ? null : (address) => usesAny(this.#pools.peek(address));
  }

  /** The pool of a trade or of a change of its liquidity, with the pair if the event names it. */
  learnTrade(venue: Venue, { pool: address, pair }: Pick<VenueTrade, 'pool' | 'pair'>): Pool {
    const known = this.#pools.get(address);
    if (known !== undefined && known.token !== null && (pair === null || known.quote !== null)) {
      if (pair === null || known.taughtBy === null) return known;
      const [mint, quoteMint] = known.flipped ? [pair.quoteMint, pair.baseMint] : [pair.baseMint, pair.quoteMint];
      if (known.token.mint === mint && known.quote?.mint === quoteMint) known.taughtBy = this.taughtBy;
      return known;
    }
    return pair === null ? this.poolAt(venue, address) : this.#learnPair(venue, address, pair.baseMint, pair.quoteMint);
  }

  /** A curve whose account does not name its coin. */
  learnCoin(venue: Venue, address: string, mint: string): Pool {
    const pool = this.poolAt(venue, address);
    if (pool.isCurve && pool.token === null) {
      this.#setToken(pool, mint);
      pool.taughtBy = this.taughtBy;
    }
    return pool;
  }

  learnCreated(venue: Venue, event: TokenCreated): Pool {
    const pool = this.#learnPair(venue, event.pool, event.mint, event.quoteMint);
    const token = pool.token!;
    this.#setDecimals(token, event.decimals);
    token.supply = event.supply;
    token.supplyByMint = event.supplyByMint;
    token.tokenProgram = event.tokenProgram ?? token.tokenProgram;
    return pool;
  }

  learnPoolCreated(venue: Venue, event: PoolCreated): Pool {
    const pool = this.#learnPair(venue, event.pool, event.baseMint, event.quoteMint);
    const [base, quote] = pool.flipped ? [pool.quote!, pool.token!] : [pool.token!, pool.quote!];
    if (base.decimals === null) this.#setDecimals(base, event.baseDecimals);
    if (quote.decimals === null) this.#setDecimals(quote, event.quoteDecimals);
    const state = event.reserves === null ? event.opening?.state : stateOfReserves(event.reserves);
    if (state !== undefined) learnPrice(pool, state);
    return pool;
  }

  learnMigrated(venue: Venue, toVenue: Venue | undefined, event: CurveMigrated): Pool {
    const from = this.#learnPair(venue, event.fromPool, event.mint, event.quoteMint);
    if (toVenue !== undefined) this.#learnPair(toVenue, event.toPool, event.mint, event.quoteMint);
    return from;
  }

  learnAccount(venue: Venue, address: string, account: VenueAccount): Pool {
    this.taughtBy = null;
    if (account.type === 'pool') {
      const known = this.#learnPair(venue, address, account.baseMint, account.quoteMint);
      if (account.supplyByMint) known.token!.supplyByMint = true;
      known.priceAsked = true;
      if (account.price !== null) learnPrice(known, account.price);
      return known;
    }
    const pool = this.poolAt(venue, address);
    if (account.baseMint !== null) this.#learnPair(venue, address, account.baseMint, account.quoteMint);
    pool.quote ??= this.token(account.quoteMint);
    pool.curveSupply = account.supply;
    if (pool.token !== null) learnCurveSupply(pool.token, account.supply);
    return pool;
  }

  #learnPair(venue: Venue, address: string, baseMint: string, quoteMint: string): Pool {
    const pool = this.poolAt(venue, address);
    if (pool.token === null || pool.quote === null) pool.taughtBy = this.taughtBy;
    if (pool.token === null) {
      pool.flipped = !pool.isCurve && isReversedPair(baseMint, quoteMint);
      const token = this.#setToken(pool, pool.flipped ? quoteMint : baseMint);
      // Events of such a pool show the supply of the money.
      if (pool.flipped) token.supplyByMint = true;
    }
    pool.quote ??= this.token(pool.flipped ? baseMint : quoteMint);
    return pool;
  }

  #setToken(pool: Pool, mint: string): Token {
    const token = this.token(mint);
    pool.token = token;
    token.decimals ??= pool.venue.curves?.decimals ?? null;
    // An account that was read before named no coin, but showed its supply.
    if (pool.curveSupply !== undefined) learnCurveSupply(token, pool.curveSupply);
    return token;
  }
}
