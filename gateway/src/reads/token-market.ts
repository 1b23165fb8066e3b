import { isMainPool, type MainPoolFacts } from '@sluice/shared/market/head.ts';
import { depthInSol, quoteCoins } from '@sluice/shared/money.ts';
import { toUi } from '@sluice/shared/solana/amounts.ts';
import type { PoolReserves } from '@sluice/shared/venues/venue.ts';
import type { MigrationEvent, PriceEvent, Reserves, TradeEvent, VenueName } from '@sluice/shared/wire/events.ts';
import type { TokenFacts } from './token-facts.ts';
import type { WindowSums } from './minutes.ts';

/** The main pool as it was told last. */
export interface MainPool {
  readonly venue: VenueName;
  readonly address: string;
  readonly quoteMint: string;
  /** Quote coins for one token; null where the pool is empty, or nothing told it. */
  readonly priceQuote: number | null;
  readonly reserves: Reserves | null;
  /** Decimals of the quote coin; null where only the price is known. */
  readonly quoteDecimals: number | null;
  readonly slot: number;
  /** When it was told, Unix milliseconds. */
  readonly atMs: number;
  /** A read of the chain told it, or an event. */
  readonly source: 'chain' | 'event';
}

/** An event that came this much later than a read of the chain is newer, whatever slot the node that was read claimed. */
const readHoldsMs = 2_000;

/**
 * Where a token trades. Begun by a read of the chain and what the record of the market kept, then moved by events in log order.
 * An event of an older slot than what is known changes nothing: the read had it already.
 */
export class TokenMarket {
  main: MainPool | null = null;
  /** Null where the token has no curve. */
  curve: { readonly address: string; realBase: bigint; complete: boolean } | null = null;
  readonly #decimals: number;
  #tradedS = 0;

  constructor(facts: TokenFacts, kept: PriceEvent | null) {
    this.#decimals = facts.token.decimals;
    this.#read(facts);
    if (kept !== null) this.onPrice(kept);
  }

  /** The chain was read again. */
  refresh(facts: TokenFacts): void {
    const before = this.main;
    if (before !== null && before.slot > facts.slot) return;
    const wasOver = this.#isCurveOver;
    this.main = null;
    this.#read(facts);
    // Another pool than the derived ones stays the main one, unless the curve has just ended.
    const after = this.#addressOfMain;
    const isOther = before !== null && before.address !== after && wasOver && !this.#isCurve(before);
    const isBetterTold = before !== null && before.address === after && before.reserves !== null && this.#isUntold;
    if (isOther || isBetterTold) this.main = before;
  }

  #read({ token, curve, pools, slot, askedAtMs }: TokenFacts): void {
    const told = (venue: VenueName, address: string, quoteMint: string, reserves: PoolReserves | null): MainPool => {
      const quoteDecimals = quoteCoins.get(quoteMint)?.decimals ?? null;
      const priceQuote = reserves === null || quoteDecimals === null ? null : priceOf(reserves, token.decimals, quoteDecimals);
      const shown = wireReserves(reserves);
      return { venue, address, quoteMint, priceQuote, reserves: shown, quoteDecimals, slot, atMs: askedAtMs, source: 'chain' };
    };
    if (curve !== null) {
      const { complete, quoteMint, reserves } = curve.account;
      this.curve = { address: curve.address, realBase: reserves.realBase, complete };
      this.main = told(curve.venue.name, curve.address, quoteMint, reserves);
    }
    if (!this.#isCurveOver) return;
    for (const { venue, address, account, reserves } of pools) {
      const pool = told(venue.name, address, account.quoteMint, reserves);
      // Of several, the deepest one.
      if (this.main === null || this.#isCurve(this.main) || depthOf(pool) > depthOf(this.main)) this.main = pool;
    }
  }

  get #addressOfMain(): string | null {
    return this.main?.address ?? null;
  }

  get #isUntold(): boolean {
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
    // One that comes late says of what is known from a later slot nothing new, whenever that was.
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

  /** The curve moved to a pool, whose reserves a price tells with the first trade. */
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

  /** By the rule that the record of the market goes by. */
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

/** Quote coins for one token; null where a reserve is empty. */
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

/** A trade as its minute counts it, and when it was. */
export function tallyOf(event: TradeEvent): { readonly atS: number; readonly sums: WindowSums } {
  const { quoteUiAmount, priceQuote } = event;
  const valued = (price: number | null): number =>
    priceQuote === null || priceQuote === 0 || price === null ? 0 : quoteUiAmount * (price / priceQuote);
  const isBuy = event.side === 'buy';
  const volumeSol = event.solAmount ?? valued(event.priceSol);
  return { atS: secondOf(event), sums: { buys: isBuy ? 1 : 0, sells: isBuy ? 0 : 1, volumeSol, volumeUsd: valued(event.priceUsd) } };
}
