import { isMainPool, type MainPoolFacts } from '@sluice/shared/market/head.ts';
import { depthInSol, quoteCoins } from '@sluice/shared/money.ts';
import { toUi } from '@sluice/shared/solana/amounts.ts';
import type { PoolReserves } from '@sluice/shared/venues/venue.ts';
import type { MigrationEvent, PriceEvent, Reserves, TradeEvent, VenueName } from '@sluice/shared/wire/events.ts';
import type { TokenFacts } from './token-facts.ts';
import type { WindowSums } from './minutes.ts';

/** The last known state of the main pool. */
export interface MainPool {
  readonly venue: VenueName;
  readonly address: string;
  readonly quoteMint: string;
  /** Quote coins for one token. Null: the pool is empty, or the price is unknown. */
  readonly priceQuote: number | null;
  readonly reserves: Reserves | null;
  /** Decimals of the quote coin. Null: only the price is known. */
  readonly quoteDecimals: number | null;
  readonly slot: number;
  /** When it was read or received, Unix milliseconds. */
  readonly atMs: number;
  /** Whether it comes from a read of the chain or from an event. */
  readonly source: 'chain' | 'event';
}

/** An event that is received this long after a read of the chain is newer than the read, even if the node reported a later slot. */
const readHoldsMs = 2_000;

/**
 * Where a token trades. It starts with a read of the chain and the stored state of the market, and is then updated by events in log order.
 * An event with an older slot changes nothing, because the read included it.
 */
export class TokenMarket {
  main: MainPool | null = null;
  /** Null: the token has no curve. */
  curve: { readonly address: string; realBase: bigint; complete: boolean } | null = null;
  readonly #decimals: number;
  #tradedS = 0;

  constructor(facts: TokenFacts, stored: PriceEvent | null) {
    this.#decimals = facts.token.decimals;
    this.#read(facts);
    if (stored !== null) this.onPrice(stored);
  }

  /** The chain was read again. */
  refresh(facts: TokenFacts): void {
    const before = this.main;
    if (before !== null && before.slot > facts.slot) return;
    const wasOver = this.#isCurveOver;
    this.main = null;
    this.#read(facts);
    // A main pool whose address is not derived stays the main pool, unless the curve has just completed.
    const after = this.#addressOfMain;
    const isOther = before !== null && before.address !== after && wasOver && !this.#isCurve(before);
    const hadReserves = before !== null && before.address === after && before.reserves !== null && this.#lacksReserves;
    if (isOther || hadReserves) this.main = before;
  }

  #read({ token, curve, pools, slot, askedAtMs }: TokenFacts): void {
    const mainPoolOf = (venue: VenueName, address: string, quoteMint: string, reserves: PoolReserves | null): MainPool => {
      const quoteDecimals = quoteCoins.get(quoteMint)?.decimals ?? null;
      const priceQuote = reserves === null || quoteDecimals === null ? null : priceOf(reserves, token.decimals, quoteDecimals);
      const shown = wireReserves(reserves);
      return { venue, address, quoteMint, priceQuote, reserves: shown, quoteDecimals, slot, atMs: askedAtMs, source: 'chain' };
    };
    if (curve !== null) {
      const { complete, quoteMint, reserves } = curve.account;
      this.curve = { address: curve.address, realBase: reserves.realBase, complete };
      this.main = mainPoolOf(curve.venue.name, curve.address, quoteMint, reserves);
    }
    if (!this.#isCurveOver) return;
    for (const { venue, address, account, reserves } of pools) {
      const pool = mainPoolOf(venue.name, address, account.quoteMint, reserves);
      // The deepest of several pools is the main one.
      if (this.main === null || this.#isCurve(this.main) || depthOf(pool) > depthOf(this.main)) this.main = pool;
    }
  }

  get #addressOfMain(): string | null {
    return this.main?.address ?? null;
  }

  get #lacksReserves(): boolean {
    return this.main?.reserves === null;
  }

  get #isCurveOver(): boolean {
    return this.curve === null || this.curve.complete;
  }

  #isCurve(pool: MainPool): boolean {
    return pool.address === this.curve?.address;
  }

  onPrice(event: PriceEvent): void {
    const { main } = this;
    const isMain = main?.address === event.poolAddress;
    // A late event adds nothing to the state of a later slot.
    if (event.late === true && main !== null && main.slot > event.slot) return;
    const receivedAtMs = Math.round(event.ts.received / 1000);
    if (isMain && main.slot > event.slot && !(main.source === 'chain' && receivedAtMs > main.atMs + readHoldsMs)) return;
    if (!isMain && !this.#takesOver(event)) return;
    this.#noteCurve(event);
    this.main = {
      venue: event.pool,
      address: event.poolAddress,
      quoteMint: event.quoteMint,
      priceQuote: event.priceQuote,
      reserves: event.reserves,
      quoteDecimals: quoteCoins.get(event.quoteMint)?.decimals ?? null,
      slot: event.slot,
      atMs: receivedAtMs,
      source: 'event',
    };
  }

  onTrade(event: TradeEvent): void {
    if (event.poolAddress === this.main?.address) this.#tradedS = Math.max(this.#tradedS, secondOf(event));
    if (this.curve !== null && event.poolAddress === this.curve.address && event.curveCompleted === true) this.curve.complete = true;
  }

  /** The token migrated to a pool. The first trade there brings a price event with its reserves. */
  onMigration(event: MigrationEvent): void {
    if (this.curve !== null) this.curve.complete = true;
    if (this.main !== null && !this.#isCurve(this.main) && this.main.slot >= event.slot) return;
    this.main = {
      venue: event.pool,
      address: event.poolAddress,
      quoteMint: event.quoteMint,
      priceQuote: event.priceQuote,
      reserves: null,
      quoteDecimals: quoteCoins.get(event.quoteMint)?.decimals ?? event.quoteDecimals,
      slot: event.slot,
      atMs: Math.round(event.ts.received / 1000),
      source: 'event',
    };
  }

  #noteCurve({ poolAddress, reserves }: PriceEvent): void {
    if (this.curve !== null && poolAddress === this.curve.address && reserves !== null) this.curve.realBase = BigInt(reserves.realBase);
  }

  /** Uses the same rule as the stored state of the market. */
  #takesOver(event: PriceEvent): boolean {
    const { main } = this;
    if (main === null) return true;
    const head: MainPoolFacts = {
      pool: main.venue,
      poolAddress: main.address,
      depthSol: depthOf(main),
      mainTradedS: this.#tradedS || Math.floor(main.atMs / 1000),
      curveOver: this.#isCurveOver,
    };
    const depthSol = depthInSol(Number(event.reserves?.realQuote ?? 0), event.quoteMint, event.priceQuote, event.priceSol);
    return isMainPool(head, { pool: event.pool, poolAddress: event.poolAddress, depthSol, atS: secondOf(event) });
  }

  get decimals(): number {
    return this.#decimals;
  }
}

/** Quote coins for one token. Null: a reserve is empty. */
function priceOf({ virtualBase, virtualQuote }: PoolReserves, decimals: number, quoteDecimals: number): number | null {
  if (virtualBase <= 0n || virtualQuote <= 0n) return null;
  const price = toUi(virtualQuote, quoteDecimals) / toUi(virtualBase, decimals);
  return Number.isFinite(price) ? price : null;
}

function wireReserves(reserves: PoolReserves | null): Reserves | null {
  if (reserves === null || reserves.virtualQuote < 0n) return null;
  const { virtualBase, virtualQuote, realBase, realQuote } = reserves;
  return { virtualBase: `${virtualBase}`, virtualQuote: `${virtualQuote}`, realBase: `${realBase}`, realQuote: `${realQuote}` };
}

function depthOf({ reserves, quoteMint, priceQuote }: MainPool): number {
  return reserves === null ? 0 : depthInSol(Number(reserves.realQuote), quoteMint, priceQuote, null);
}

function secondOf({ blockTime, ts }: Pick<TradeEvent, 'blockTime' | 'ts'>): number {
  return blockTime ?? Math.floor(ts.received / 1_000_000);
}

/** The time of a trade, and what it adds to its minute. */
export function tallyOf(event: TradeEvent): { readonly atS: number; readonly sums: WindowSums } {
  const { quoteUiAmount, priceQuote } = event;
  const valued = (price: number | null): number =>
    priceQuote === null || priceQuote === 0 || price === null ? 0 : quoteUiAmount * (price / priceQuote);
  const isBuy = event.side === 'buy';
  const volumeSol = event.solAmount ?? valued(event.priceSol);
  return { atS: secondOf(event), sums: { buys: isBuy ? 1 : 0, sells: isBuy ? 0 : 1, volumeSol, volumeUsd: valued(event.priceUsd) } };
}
