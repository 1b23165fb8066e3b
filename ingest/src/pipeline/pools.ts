import { solDecimals, usdcDecimals, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { CurveMigrated, PoolCreated, TokenCreated, Venue, VenueAccount } from '@sluice/shared/venues/venue.ts';
import type { VenueName } from '@sluice/shared/wire/events.ts';
import { Recent } from './recent.ts';

/** Pools, curves and mints remembered, each; one not used for longest is forgotten and read from the chain again. */
const maxPools = 200_000;

/** Venues that mint their coins themselves, all with the same decimals; elsewhere the mint account tells. */
const mintedDecimals: Partial<Record<VenueName, number>> = { pump: 6 };

/** Coins that a price is told in. A pool with one of them as its base, and none as its quote, is turned around. */
const moneyMints: ReadonlySet<string> = new Set([wrappedSolMint, usdcMint]);

/** What is known of a token; shared by all its pools. */
export interface Token {
  readonly mint: string;
  decimals: number | null;
  /** Raw units; null until an event, the curve's account or the mint's account told it. */
  supply: bigint | null;
  tokenProgram: string | null;
}

export interface Pool {
  readonly venue: Venue;
  readonly address: string;
  /** The token that is traded; null for a curve known only by its account, which does not name it. */
  token: Token | null;
  quote: Token | null;
  /** The program's base is the money and its quote the token. */
  flipped: boolean;
  /** Supply by the curve's account, kept until the token is known. */
  curveSupply: bigint | null;
  /** Slot and reserves of the last price told. */
  tickSlot: number;
  tickBase: bigint;
  tickQuote: bigint;
  /** Base reserve after the last trade told, for the continuity check of curves; -1 before the first. */
  tradedBase: bigint;
  /** The curve's account was asked for, to learn the supply. */
  supplyAsked: boolean;
}

/** What pools and mints are, as far as events and accounts have told: no I/O. */
export class PoolBook {
  readonly #pools = new Recent<Pool>(maxPools);
  readonly #curves = new Recent<Pool>(maxPools);
  readonly #tokens = new Recent<Token>(maxPools);
  readonly #money = new Map<string, Token>([
    [wrappedSolMint, { mint: wrappedSolMint, decimals: solDecimals, supply: null, tokenProgram: null }],
    [usdcMint, { mint: usdcMint, decimals: usdcDecimals, supply: null, tokenProgram: null }],
  ]);

  get size(): number {
    return this.#pools.size;
  }

  token(mint: string): Token {
    const known = this.#money.get(mint) ?? this.#tokens.get(mint);
    if (known !== undefined) return known;
    const token: Token = { mint, decimals: null, supply: null, tokenProgram: null };
    this.#tokens.set(mint, token);
    return token;
  }

  pool(address: string): Pool | undefined {
    return this.#pools.get(address);
  }

  /** The pool at an address, made when new. */
  poolAt(venue: Venue, address: string): Pool {
    const known = this.#pools.get(address);
    if (known !== undefined) return known;
    const pool: Pool = {
      venue,
      address,
      token: null,
      quote: null,
      flipped: false,
      curveSupply: null,
      tickSlot: -1,
      tickBase: -1n,
      tickQuote: -1n,
      tradedBase: -1n,
      supplyAsked: false,
    };
    this.#pools.set(address, pool);
    return pool;
  }

  /** The curve of a mint; null where the venue's curves do not follow from the mint. */
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
    token.tokenProgram = event.tokenProgram ?? token.tokenProgram;
    pool.quote = this.token(event.quoteMint);
    return pool;
  }

  learnPoolCreated(venue: Venue, event: PoolCreated): Pool {
    const pool = this.#learnPair(venue, event.pool, event.baseMint, event.quoteMint);
    const [base, quote] = pool.flipped ? [pool.quote!, pool.token!] : [pool.token!, pool.quote!];
    base.decimals ??= event.baseDecimals;
    quote.decimals ??= event.quoteDecimals;
    return pool;
  }

  learnMigrated(venue: Venue, toVenue: Venue | undefined, event: CurveMigrated): Pool {
    const from = this.#nameCurve(venue, event.mint, event.fromPool);
    from.quote ??= this.token(event.quoteMint);
    if (toVenue !== undefined) this.#learnPair(toVenue, event.toPool, event.mint, event.quoteMint);
    return from;
  }

  learnAccount(venue: Venue, address: string, account: VenueAccount): Pool {
    if (account.type === 'pool') return this.#learnPair(venue, address, account.baseMint, account.quoteMint);
    const pool = this.poolAt(venue, address);
    pool.quote ??= this.token(account.quoteMint);
    pool.curveSupply = account.supply;
    if (pool.token !== null) pool.token.supply = account.supply;
    return pool;
  }

  #nameCurve(venue: Venue, mint: string, address: string): Pool {
    const pool = this.poolAt(venue, address);
    if (pool.token === null) {
      const token = this.token(mint);
      token.decimals ??= mintedDecimals[venue.name] ?? null;
      token.supply ??= pool.curveSupply;
      pool.token = token;
    }
    this.#curves.set(mint, pool);
    return pool;
  }

  #learnPair(venue: Venue, address: string, baseMint: string, quoteMint: string): Pool {
    const pool = this.poolAt(venue, address);
    if (pool.token === null) {
      pool.flipped = moneyMints.has(baseMint) && !moneyMints.has(quoteMint);
      pool.token = this.token(pool.flipped ? quoteMint : baseMint);
      pool.quote = this.token(pool.flipped ? baseMint : quoteMint);
    }
    return pool;
  }
}
