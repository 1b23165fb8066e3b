import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import type { ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import { poolPriceOf, secondOf } from '@sluice/shared/market/pools/depth.ts';
import {
  firstMain,
  minPriceDepthSol,
  placeOf,
  priceCounts,
  pricesAgree,
  takePlace,
  type MainPool,
  type Mutable,
} from '@sluice/shared/market/pools/main-pool.ts';
import { lastsMs } from '@sluice/shared/market/pools/slot-prices.ts';
import { SettledPrice } from '@sluice/shared/market/pools/settled-price.ts';
import type { MarketSummary } from '@sluice/shared/market/market.ts';
import { inUsd, valuedCoins, type Rates } from '@sluice/shared/wire/values/money.ts';
import type { MigrationEvent, PriceEvent, StreamEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { maxTokenPools } from '@sluice/shared/wire/rest/tokens/token.ts';
import type { MarketHealth } from '../market-health.ts';
import type { History } from '../../stream/history/history.ts';
import { Minutes } from '../pages/minutes.ts';
import { depthOf, isFollowedBy, isOutdated, receivedAtMs, stateAtRead, stateOfPrice, type PoolState } from './pool-state.ts';
import { surviving } from '../surviving.ts';
import type { TokenFacts, TokenPlan } from './token-facts.ts';

/** Maximum number of entries applied at once when a view begins. If the stored trades are further behind, they are read again later. */
const maxReplayed = 5_000;
/** Maximum number of price events searched if the stored trades cannot be joined. Several pools can have price events. */
const newestPrices = 16;
/** Prices that wait until their slots are confirmed. Above this limit, the oldest is dropped, so a later one becomes the confirmed price. */
const maxUnconfirmed = 64;

/** The part of the log that this gateway has without a gap. */
export interface LogCoverage {
  readonly placeOf: BusSubscriber['placeOf'];
  /** The oldest offset from which nothing is missing. */
  readonly wholeFrom: number;
}

/**
 * What this gateway knows of a mint: its facts and supply, its pools, and the price of the main one, the newest and the newest confirmed. It begins
 * with a read of the chain and the stored state of the market, and is then updated by events in log order. An event with an older slot changes
 * nothing, because the read included it.
 */
export class MintView {
  readonly plan: TokenPlan;
  facts: TokenFacts;
  /** The curve has sold everything, or has migrated. */
  curveComplete = false;
  /** Null: the stored trades and the log could not be joined yet. */
  minutes: Minutes | null = null;
  /** Its migration event. Null: none since the view began. */
  migrationId: string | null = null;
  touchedAtMs = Number.NEGATIVE_INFINITY;
  /** When the chain, and the stored trades, were last read. By the steady clock, as the times above. */
  refreshedAtMs: number;
  joinedAtMs = Number.NEGATIVE_INFINITY;
  /** By address. At most `maxTokenPools` that events showed; above this limit the one with the least depth is dropped, which may be the new one. */
  readonly #pools = new Map<string, PoolState>();
  /** How sure the place of the main pool is, and which pool may replace it; null if there is none. Its prices and depth are those of `main`. */
  #place: Mutable<MainPool> | null = null;
  /** The price that counts, in the quote coin of the main pool. Null: none is known. */
  #settled: SettledPrice | null = null;
  /** The spot price of the main pool, and since when it has been the same, in Unix milliseconds. */
  #spot: { readonly quote: number; readonly sinceMs: number } | null = null;
  readonly #coins: MarketHealth['coins'];
  #confirmed: PoolState | null = null;
  /** States of the main pool after the confirmed one, at most one for each slot, oldest first. */
  readonly #unconfirmed: PoolState[] = [];
  /** `minutes` contains the entries up to this offset. */
  #countedTo = 0;

  /** `stored`: the newest price event of the main pool that is stored, and `counted`: the price that counted then. */
  constructor(
    plan: TokenPlan,
    facts: TokenFacts,
    stored: PriceEvent | null,
    counted: number | null,
    coins: MarketHealth['coins'],
    steadyMs: number,
  ) {
    this.plan = plan;
    this.#coins = coins;
    this.facts = facts;
    this.#read(facts);
    if (stored !== null) this.#onPrice(stored);
    const { main } = this;
    if (stored !== null && main !== null && main.address === stored.poolAddress && main.priceQuote !== null) {
      this.#settled = new SettledPrice(main.slot, main.priceQuote, counted);
      // The read of the chain found the price of the newest event.
      if (main.priceQuote === stored.priceQuote) this.#spot = { quote: main.priceQuote, sinceMs: receivedAtMs(stored) };
    }
    this.refreshedAtMs = steadyMs;
  }

  get mint(): string {
    return this.plan.mint;
  }

  /** The main pool in its newest state; null if the mint has no pool. */
  get main(): PoolState | null {
    return this.#place === null ? null : (this.#pools.get(this.#place.poolAddress) ?? null);
  }

  /** The newest state of the main pool that cannot be retracted any more; null if none is known. */
  confirmed(slots: Pick<ConfirmedSlots, 'fateOfSlot'>): PoolState | null {
    const waiting = this.#unconfirmed;
    while (waiting.length > 0) {
      const fate = waiting[0]!.commitment === 'processed' ? slots.fateOfSlot(waiting[0]!.slot) : 'pass';
      if (fate === 'wait') break;
      const [state] = waiting.splice(0, 1);
      if (fate === 'pass') this.#confirmed = state!;
    }
    return this.#confirmed;
  }

  /** The price that counts, in the quote coin of the main pool: its spot price if that has lasted, else that of a slot. Null if none is known. */
  counted(nowMs: number): number | null {
    const { main } = this;
    if (main === null || main.priceQuote === null) return null;
    const sinceMs = this.#spot?.quote === main.priceQuote ? this.#spot.sinceMs : main.atMs;
    return this.#settled === null || nowMs - sinceMs >= lastsMs ? main.priceQuote : this.#settled.at();
  }

  stateOf(address: string): PoolState | null {
    return this.#pools.get(address) ?? null;
  }

  /** All known pools: the main one, then the others, the deepest first. `rates` makes depths comparable. */
  pools(rates: Rates): readonly PoolState[] {
    const { main } = this;
    const depths = new Map([...this.#pools.values()].map((state) => [state, depthOf(state, rates) ?? 0]));
    return [...depths.keys()]
      .sort((a, b) => Number(b === main) - Number(a === main) || depths.get(b)! - depths.get(a)! || (a.address < b.address ? -1 : 1))
      .slice(0, maxTokenPools);
  }

  refresh(facts: TokenFacts): void {
    if (facts.slot < this.facts.slot) return;
    this.facts = facts;
    this.#read(facts);
  }

  #read(facts: TokenFacts): void {
    const before = this.main;
    const { curve } = facts;
    const wasOver = this.#place === null || this.#place.curveOver;
    for (const found of [...(curve === null ? [] : [curve]), ...facts.pools]) {
      const read = stateAtRead(facts, found);
      const known = this.#pools.get(found.address);
      // Some vaults cannot be read, but an event had the price.
      const knewMore =
        known !== undefined && (known.reserves ?? known.priceQuote) !== null && read.reserves === null && read.priceQuote === null;
      if (known === undefined || !(knewMore || (known.source === 'event' && isFollowedBy(read, known))))
        this.#pools.set(found.address, read);
    }
    if (before !== null && before.slot > facts.slot) return;
    this.curveComplete = curve?.account.complete === true;
    const curveOver = curve === null || this.curveComplete;
    const main = this.#mainAtRead(curveOver);
    // A main pool whose address is not derived stays the main pool, unless the curve has just completed.
    const stays = before !== null && before.address !== main?.address && wasOver && before.address !== curve?.address;
    if (stays) this.#place!.curveOver = curveOver;
    else if (main === null) this.#place = null;
    else this.#enter(main, curveOver);
    this.#noteSpot(before);
  }

  /** The curve, until it is over; then the deepest pool. */
  #mainAtRead(curveOver: boolean): PoolState | null {
    const { curve, pools } = this.facts;
    const derived = new Set(pools.flatMap(({ isDerived, address }) => (isDerived ? [address] : [])));
    let main: PoolState | null = null;
    for (const { address } of curveOver ? pools : []) {
      const pool = this.#pools.get(address)!;
      if (main === null || isBetter(pool, main, derived)) main = pool;
    }
    return main ?? (curve === null ? null : this.#pools.get(curve.address)!);
  }

  /** A pool that the chain or a migration names is proven. */
  #enter(main: PoolState, curveOver: boolean): void {
    const { venue: pool, address: poolAddress, quoteMint, priceQuote, atMs } = main;
    const seen = { pool, poolAddress, quoteMint, depthSol: null, priceQuote, priceUsd: null, sizeSol: null, atS: Math.floor(atMs / 1000) };
    this.#place = { ...firstMain(seen, true), mainTradedS: 0, curveOver };
  }

  /** Applies an event of this mint; `offset` is that of its entry. */
  apply(event: StreamEvent, offset: number, nowMs: number): void {
    if (event.type === 'price') this.#onPrice(event);
    else if (event.type === 'migration') this.#onMigration(event);
    else if (event.type === 'trade') this.#onTrade(event, offset, nowMs);
  }

  #onPrice(event: PriceEvent): void {
    const { main } = this;
    const known = this.#pools.get(event.poolAddress);
    if (known !== undefined && isOutdated(event, known)) return;
    const solUsd = event.priceSol === null || event.priceUsd === null ? null : event.priceUsd / event.priceSol;
    const rates = { solUsd, coins: this.#coins };
    const state = stateOfPrice(event);
    this.#pools.set(state.address, state);
    // A late event adds nothing to the state of a later slot.
    const isOld = event.late === true && main !== null && main.slot > event.slot;
    if (main?.address !== state.address && !isOld) this.#place = this.#placeAfter(event, main, rates);
    if (this.#place?.poolAddress === state.address) {
      if (priceCounts(poolPriceOf(event))) this.#noteSpot(main);
      this.#addUnconfirmed(state);
    }
    if (this.#pools.size > maxTokenPools) this.#dropShallowest(rates);
  }

  /** Follows the spot price of the main pool. `before`: the main pool before, whose price counts on if it is in the same coin. */
  #noteSpot(before: PoolState | null): void {
    const { main } = this;
    if (main === null || main.priceQuote === null) return;
    if (this.#spot?.quote !== main.priceQuote) this.#spot = { quote: main.priceQuote, sinceMs: main.atMs };
    if (this.#settled === null || before?.quoteMint !== main.quoteMint) this.#settled = new SettledPrice(main.slot, main.priceQuote, null);
    else this.#settled.note(main.slot, main.priceQuote);
  }

  /** Uses the same rule as the stored state of the market. */
  #placeAfter(event: PriceEvent, main: PoolState | null, rates: Rates): Mutable<MainPool> {
    const seen = poolPriceOf(event);
    if (main === null || this.#place === null)
      return { ...firstMain(seen), mainTradedS: 0, curveOver: this.facts.curve === null || this.curveComplete };
    const { priceQuote, quoteMint } = main;
    const place: Mutable<MainPool> = {
      ...this.#place,
      depthSol: depthOf(main, rates) ?? 0,
      priceQuote,
      priceUsd: priceQuote === null ? null : inUsd(priceQuote, quoteMint, rates),
      mainTradedS: this.#place.mainTradedS || Math.floor(main.atMs / 1000),
    };
    takePlace(place, seen, placeOf(place, seen));
    return place;
  }

  #onTrade(event: TradeEvent, offset: number, nowMs: number): void {
    const { poolAddress } = event;
    const place = this.#place;
    if (place?.poolAddress === poolAddress) place.mainTradedS = Math.max(place.mainTradedS, secondOf(event));
    if (event.curveCompleted === true && poolAddress === this.facts.curve?.address) this.#completeCurve();
    if (this.minutes === null || offset <= this.#countedTo) return;
    const { side, quoteUiAmount, priceQuote, priceSol, priceUsd } = event;
    const valued = (price: number | null): number =>
      priceQuote === null || priceQuote === 0 || price === null ? 0 : quoteUiAmount * (price / priceQuote);
    const count = { buys: side === 'buy' ? 1 : 0, sells: side === 'buy' ? 0 : 1 };
    const sums = { ...count, volumeSol: event.solAmount ?? valued(priceSol), volumeUsd: valued(priceUsd) };
    this.minutes.add(secondOf(event), sums, Math.floor(nowMs / 1000));
  }

  /** The token migrated to a pool. The first trade there brings a price event with its reserves. */
  #onMigration(event: MigrationEvent): void {
    this.migrationId = event.id;
    this.#completeCurve();
    const { main } = this;
    if (main !== null && main.address !== this.facts.curve?.address && main.slot >= event.slot) return;
    const { pool: venue, poolAddress: address, quoteMint, priceQuote, slot, commitment } = event;
    const quoteDecimals = valuedCoins.get(quoteMint)?.decimals ?? event.quoteDecimals;
    const atMs = Math.round(event.ts.received / 1000);
    const price = { venue, address, quoteMint, priceQuote, reserves: null, depth: null, quoteDecimals };
    const state: PoolState = { ...price, slot, commitment, atMs, source: 'event' };
    this.#pools.set(address, state);
    this.#enter(state, true);
    this.#noteSpot(main);
    this.#addUnconfirmed(state);
  }

  #completeCurve(): void {
    if (this.facts.curve !== null) this.curveComplete = true;
    if (this.#place !== null) this.#place.curveOver = true;
  }

  #addUnconfirmed(state: PoolState): void {
    const waiting = this.#unconfirmed;
    if (waiting.at(-1)?.slot === state.slot) waiting.pop();
    waiting.push(state);
    if (waiting.length > maxUnconfirmed) waiting.shift();
  }

  /** Of equal ones the newest, so that a flood of new pools does not remove known ones. */
  #dropShallowest(rates: Rates): void {
    const { main } = this;
    let least: PoolState | null = null;
    for (const state of this.#pools.values()) {
      if (state !== main && (least === null || (depthOf(state, rates) ?? 0) <= (depthOf(least, rates) ?? 0))) least = state;
    }
    if (least !== null) this.#pools.delete(least.address);
  }

  /**
   * Joins the stored trades with the log. The stored minutes contain the trades up to the checkpoint; later ones are applied from the
   * history. `minutes` stays null if the history lacks entries after the checkpoint, or a stored trade was retracted there. Call it without an
   * `await` after reading the log's position, so that no entry arrives in between.
   */
  join({ checkpoint, minutes }: MarketSummary, history: History, { placeOf: place, wholeFrom }: LogCoverage, nowMs: number): void {
    this.minutes = null;
    const isMissing = checkpoint === null || place(checkpoint.epoch) === null || checkpoint.offset + 1 < wholeFrom;
    const trades = isMissing ? null : eventsAfter(history, `trades:${this.mint}`, checkpoint.offset);
    const prices = isMissing ? null : eventsAfter(history, `prices:${this.mint}`, checkpoint.offset);
    if (isMissing || trades === null || prices === null) {
      return this.#takeNewestPrices(history, nowMs);
    }
    this.minutes = new Minutes(minutes);
    this.#countedTo = checkpoint.offset;
    for (const { offset, event } of [...trades, ...prices]) this.apply(event, offset, nowMs);
  }

  /** Applies the entries that arrived while the token was read; only the history has them. */
  #takeNewestPrices(history: History, nowMs: number): void {
    const newest: { readonly offset: number; readonly event: StreamEvent }[] = [];
    for (const { offset, event } of surviving(history, `prices:${this.mint}`, new Set())) {
      newest.push({ offset, event });
      if (newest.length === newestPrices) break;
    }
    for (const { offset, event } of newest.toReversed()) this.apply(event, offset, nowMs);
  }
}

const noRates: Rates = { solUsd: null };

/**
 * Whether a pool that was read is better than another: it is deeper. The pool whose address follows from the mint was opened by the program itself.
 * So one that anybody can have opened is not better than that pool if its price differs, unless nothing is left in that pool.
 */
function isBetter(pool: PoolState, than: PoolState, derived: ReadonlySet<string>): boolean {
  const depth = depthOf(than, noRates) ?? 0;
  if ((depthOf(pool, noRates) ?? 0) <= depth) return false;
  const isForeign = derived.has(than.address) && !derived.has(pool.address) && depth >= minPriceDepthSol;
  return !isForeign || pricesAgree({ ...than, priceUsd: null }, { ...pool, priceUsd: null });
}

/** Retained events of a topic after an offset, oldest first. Null: they are too many, or one of them retracts an older event. */
function eventsAfter(history: History, topic: string, after: number): { readonly offset: number; readonly event: StreamEvent }[] | null {
  const found: { readonly offset: number; readonly event: StreamEvent }[] = [];
  const retracted = new Set<string>();
  for (const { offset, event } of surviving(history, topic, retracted, after)) {
    if (found.length >= maxReplayed) return null;
    found.push({ offset, event });
  }
  return retracted.size > 0 ? null : found.toReversed();
}
