import { standardMemory } from '@sluice/shared/config/memory-bounds.ts';
import type { MainPool, Mutable } from '@sluice/shared/market/main-pool.ts';
import { isReversedPair, quoteCoins } from '@sluice/shared/money.ts';
import type { CurveMigrated, PoolCreated, TokenCreated, Venue, VenueAccount } from '@sluice/venues/venue.ts';
import { Recent } from '@sluice/shared/collections/recent.ts';

/** Facts about a token, shared by all its pools. */
export interface Token {
  readonly mint: string;
  decimals: number | null;
  /** Raw units; null until an event, the curve's account or the mint's account shows it. */
  supply: bigint | null;
  /** Only the mint's account shows the supply, which may change without an event. It is read again from time to time. */
  supplyByMint: boolean;
  /** When the mint's account was last read, Unix milliseconds; before any, very old. */
  supplyAtMs: number;
  tokenProgram: string | null;
  /** Null until a trade, a creation or a read of the chain shows it. */
  main: Mutable<MainPool> | null;
  /** When the chain was read for it, Unix seconds; null if it was not. */
  mainReadS: number | null;
}

export interface Pool {
  readonly venue: Venue;
  readonly address: string;
  /** A bonding curve, whose account shows the supply. */
  isCurve: boolean;
  /** The traded token; null for a curve that is known only by its account, which does not name it. */
  token: Token | null;
  quote: Token | null;
  /** The program's base is the money and its quote the token. */
  flipped: boolean;
  /** Supply from the curve's account, stored until the token is known. */
  curveSupply: bigint | null;
  /** Base reserve that the pool was opened with; -1 if that was not seen. */
  openedBase: bigint;
  /** Slot and exact price (`tickQuote / tickBase`, as the program has the pair) of the last price published. */
  tickSlot: number;
  tickBase: bigint;
  tickQuote: bigint;
  /** Base reserve after the last published trade, for the continuity check of curves; -1 before the first. */
  tradedBase: bigint;
  /** An account was requested to read the supply. */
  supplyAsked: boolean;
}

function newToken(mint: string, decimals: number | null): Token {
  const unread = { supply: null, supplyByMint: false, supplyAtMs: Number.NEGATIVE_INFINITY, tokenProgram: null };
  return { mint, decimals, ...unread, main: null, mainReadS: null };
}

/** `supply` is null if the curve's account does not show the true one. */
function learnCurveSupply(token: Token, supply: bigint | null): void {
  if (supply === null) token.supplyByMint = true;
  else if (!token.supplyByMint) token.supply = supply;
}

/** Facts about pools and mints, from events and accounts. No I/O. */
export class PoolBook {
  readonly #pools: Recent<Pool>;
  readonly #curves: Recent<Pool>;
  readonly #tokens: Recent<Token>;
  readonly #money = new Map<string, Token>([...quoteCoins.values()].map(({ mint, decimals }) => [mint, newToken(mint, decimals)]));

  /** `capacity`: remembered pools, curves and mints, of each kind. The least recently used one is forgotten, and read from the chain again. */
  constructor(capacity = standardMemory.pools) {
    this.#pools = new Recent(capacity);
    this.#curves = new Recent(capacity);
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

  /** The pool at an address; created if it is new. */
  poolAt(venue: Venue, address: string): Pool {
    const known = this.#pools.get(address);
    if (known !== undefined) return known;
    const pool: Pool = {
      venue,
      address,
      isCurve: false,
      token: null,
      quote: null,
      flipped: false,
      curveSupply: null,
      openedBase: -1n,
      tickSlot: -1,
      tickBase: -1n,
      tickQuote: -1n,
      tradedBase: -1n,
      supplyAsked: false,
    };
    this.#pools.set(address, pool);
    return pool;
  }

  /** The curve of a mint; null if the venue's addresses of curves cannot be computed from the mint. */
  curve(venue: Venue, mint: string): Pool | null {
    const known = this.#curves.get(mint);
    if (known !== undefined && known.venue === venue) return known;
    const address = venue.poolOfMint(mint);
    return address === null ? null : this.#nameCurve(venue, mint, address);
  }

  learnCreated(venue: Venue, event: TokenCreated): Pool {
    const pool = this.#nameCurve(venue, event.mint, event.pool);
    const token = pool.token!;
    token.decimals = event.decimals;
    token.supply = event.supply;
    token.supplyByMint = event.supplyByMint;
    token.tokenProgram = event.tokenProgram ?? token.tokenProgram;
    pool.quote = this.token(event.quoteMint);
    return pool;
  }

  learnPoolCreated(venue: Venue, event: PoolCreated): Pool {
    const pool = this.#learnPair(venue, event.pool, event.baseMint, event.quoteMint);
    const [base, quote] = pool.flipped ? [pool.quote!, pool.token!] : [pool.token!, pool.quote!];
    base.decimals ??= event.baseDecimals;
    quote.decimals ??= event.quoteDecimals;
    if (event.reserves !== null) pool.openedBase = event.reserves.realBase;
    return pool;
  }

  learnMigrated(venue: Venue, toVenue: Venue | undefined, event: CurveMigrated): Pool {
    const from = this.#nameCurve(venue, event.mint, event.fromPool);
    from.quote ??= this.token(event.quoteMint);
    if (toVenue !== undefined) this.#learnPair(toVenue, event.toPool, event.mint, event.quoteMint);
    return from;
  }

  learnAccount(venue: Venue, address: string, account: VenueAccount): Pool {
    if (account.type === 'pool') {
      const known = this.#learnPair(venue, address, account.baseMint, account.quoteMint);
      if (account.supplyByMint) known.token!.supplyByMint = true;
      return known;
    }
    const pool = this.poolAt(venue, address);
    pool.isCurve = true;
    pool.quote ??= this.token(account.quoteMint);
    pool.curveSupply = account.supply;
    if (pool.token !== null) learnCurveSupply(pool.token, account.supply);
    return pool;
  }

  #nameCurve(venue: Venue, mint: string, address: string): Pool {
    const pool = this.poolAt(venue, address);
    if (pool.token === null) {
      const token = this.token(mint);
      token.decimals ??= venue.curves?.decimals ?? null;
      // An account that was read before named no coin, but showed its supply.
      if (pool.isCurve) learnCurveSupply(token, pool.curveSupply);
      pool.token = token;
    }
    pool.isCurve = true;
    this.#curves.set(mint, pool);
    return pool;
  }

  #learnPair(venue: Venue, address: string, baseMint: string, quoteMint: string): Pool {
    const pool = this.poolAt(venue, address);
    if (pool.token === null) {
      pool.flipped = isReversedPair(baseMint, quoteMint);
      pool.token = this.token(pool.flipped ? quoteMint : baseMint);
      pool.quote = this.token(pool.flipped ? baseMint : quoteMint);
      // Events of such a pool show the supply of the money.
      if (pool.flipped) pool.token.supplyByMint = true;
    }
    return pool;
  }
}
