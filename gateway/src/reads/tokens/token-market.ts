import { poolPriceOf, secondOf } from '@sluice/shared/market/depth.ts';
import {
  firstMain,
  minPriceDepthSol,
  placeOf,
  pricesAgree,
  takePlace,
  type MainPool,
  type Mutable,
} from '@sluice/shared/market/main-pool.ts';
import { inUsd, quoteCoins } from '@sluice/shared/money.ts';
import type { MigrationEvent, PriceEvent, TradeEvent } from '@sluice/shared/wire/events.ts';
import type { WindowSums } from '../pages/minutes.ts';
import { depthOf, isOutdated, stateAtRead, stateOfPool, stateOfPrice, type PoolState } from './pool-state.ts';
import type { TokenFacts } from './token-facts.ts';

/**
 * Where a token trades. It starts with a read of the chain and the stored state of the market, and is then updated by events in log order.
 * An event with an older slot changes nothing, because the read included it.
 */
export class TokenMarket {
  main: PoolState | null = null;
  /** Null: the token has no curve. */
  curve: { readonly address: string; realBase: bigint; realQuote: bigint; complete: boolean } | null = null;
  readonly #decimals: number;
  /** How sure the place of the main pool is, and which pool may replace it. */
  // As in `MainPool`. A pool that was read from the chain is proven.
  #provenFromS = 0;
  #rival = '';
  #rivalSinceS = 0;
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
    // Some vaults cannot be read, but an event had the price.
    const knewMore = before !== null && before.address === after && (before.reserves ?? before.priceQuote) !== null && this.#lacksPrice;
    if (isOther || knewMore) this.main = before;
  }

  #read(facts: TokenFacts): void {
    const { curve, pools } = facts;
    if (curve !== null) {
      const { complete, reserves } = curve.account;
      this.curve = { address: curve.address, realBase: reserves.realBase, realQuote: reserves.realQuote, complete };
      this.main = stateAtRead(facts, curve, reserves);
    }
    if (!this.#isCurveOver) return;
    const derived = new Set(pools.flatMap(({ isDerived, address }) => (isDerived ? [address] : [])));
    for (const found of pools) {
      const pool = stateOfPool(facts, found);
      if (this.main === null || this.#isCurve(this.main) || isBetter(pool, this.main, derived)) this.main = pool;
    }
    this.#provenFromS = 0;
    this.#rival = '';
  }

  get #addressOfMain(): string | null {
    return this.main?.address ?? null;
  }

  get #lacksPrice(): boolean {
    return this.main?.reserves === null && this.main.priceQuote === null;
  }

  get #isCurveOver(): boolean {
    return this.curve === null || this.curve.complete;
  }

  #isCurve(pool: PoolState): boolean {
    return pool.address === this.curve?.address;
  }

  onPrice(event: PriceEvent): void {
    const { main } = this;
    const isMain = main?.address === event.poolAddress;
    // A late event adds nothing to the state of a later slot.
    if (event.late === true && main !== null && main.slot > event.slot) return;
    if (isMain && isOutdated(event, main)) return;
    if (!isMain && !this.#takesOver(event)) return;
    this.#noteCurve(event);
    this.main = stateOfPrice(event);
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
      depth: null,
      quoteDecimals: quoteCoins.get(event.quoteMint)?.decimals ?? event.quoteDecimals,
      slot: event.slot,
      atMs: Math.round(event.ts.received / 1000),
      source: 'event',
    };
  }

  #noteCurve({ poolAddress, reserves }: PriceEvent): void {
    if (this.curve === null || poolAddress !== this.curve.address || reserves === null) return;
    this.curve.realBase = BigInt(reserves.realBase);
    this.curve.realQuote = BigInt(reserves.realQuote);
  }

  /** Uses the same rule as the stored state of the market. */
  #takesOver(event: PriceEvent): boolean {
    const { main } = this;
    const seen = poolPriceOf(event);
    let facts: Mutable<MainPool>;
    if (main === null) facts = firstMain(seen);
    else {
      const solUsd = event.priceSol === null || event.priceUsd === null ? null : event.priceUsd / event.priceSol;
      facts = {
        pool: main.venue,
        poolAddress: main.address,
        quoteMint: main.quoteMint,
        depthSol: depthOf(main, solUsd) ?? 0,
        priceQuote: main.priceQuote,
        priceUsd: main.priceQuote === null ? null : inUsd(main.priceQuote, main.quoteMint, solUsd),
        mainTradedS: this.#tradedS || Math.floor(main.atMs / 1000),
        curveOver: this.#isCurveOver,
        provenFromS: this.#provenFromS,
        rival: this.#rival,
        rivalSinceS: this.#rivalSinceS,
      };
      takePlace(facts, seen, placeOf(facts, seen));
    }
    ({ provenFromS: this.#provenFromS, rival: this.#rival, rivalSinceS: this.#rivalSinceS } = facts);
    return facts.poolAddress === event.poolAddress;
  }

  get decimals(): number {
    return this.#decimals;
  }
}

/**
 * Whether a pool that was read is better than another: it is deeper. The pool whose address follows from the mint was opened by the program itself.
 * So one that anybody can have opened is not better than that pool if its price differs, unless nothing is left in that pool.
 */
function isBetter(pool: PoolState, than: PoolState, derived: ReadonlySet<string>): boolean {
  const depth = depthOf(than, null) ?? 0;
  if ((depthOf(pool, null) ?? 0) <= depth) return false;
  const isForeign = derived.has(than.address) && !derived.has(pool.address) && depth >= minPriceDepthSol;
  return !isForeign || pricesAgree({ ...than, priceUsd: null }, { ...pool, priceUsd: null });
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
