import type { EventView } from '@sluice/shared/codec/event-view.ts';
import type { Fold } from '@sluice/shared/market/candles/fold-trades.ts';
import { marketLimits, type BucketChange, type MintChange } from '@sluice/shared/market/market.ts';
import { priceField, tradeField } from '@sluice/shared/market/verdicts/undecided.ts';
import type { PriceKey, UndecidedPrice, UndecidedTrade } from '@sluice/shared/market/verdicts/undecided.ts';

interface DraftPrice extends PriceKey {
  readonly view: Pick<EventView, 'json'>;
}

/** Changes of one mint in a batch, while it is prepared. There is one for every few events, so it has short lists and no maps. */
export class MintDraft {
  readonly mint: string;
  /** Settled changes; null if there are none. */
  fold: Fold | null = null;
  readonly #touched: number[] = [];
  readonly #trades: UndecidedTrade[] = [];
  readonly #prices: DraftPrice[] = [];
  readonly #gone: string[] = [];
  readonly #recent: { readonly id: string; readonly view: Pick<EventView, 'json'> }[] = [];
  readonly #retracted: string[] = [];
  #price: string | null = null;
  #tradedS = 0;

  constructor(mint: string) {
    this.mint = mint;
  }

  /** The candles of this second changed. */
  touch(atS: number): void {
    if (!this.#touched.includes(atS)) this.#touched.push(atS);
  }

  /** `view`: as published. Its JSON is made only if it is stored. */
  addTrade(one: UndecidedTrade, view: Pick<EventView, 'json'>): void {
    const { kind, id, atS } = one.trade;
    this.#trades.push(one);
    if (kind !== 'trade') return;
    this.#recent.push({ id, view });
    if (atS > this.#tradedS) this.#tradedS = atS;
  }

  addPrice(price: DraftPrice): void {
    const at = this.#prices.findIndex((other) => isSame(other, price));
    if (at === -1) this.#prices.push(price);
    else this.#prices[at] = price;
    const gone = this.#gone.length === 0 ? -1 : this.#gone.indexOf(priceField(price));
    if (gone !== -1) this.#gone.splice(gone, 1);
  }

  /** A trade is no longer undecided. */
  dropTrade(one: UndecidedTrade): void {
    const at = this.#trades.lastIndexOf(one);
    // A trade of this batch was never stored.
    if (at === -1) this.#gone.push(tradeField(one));
    else this.#trades.splice(at, 1);
  }

  dropPrice(price: PriceKey): void {
    const at = this.#prices.findIndex((other) => isSame(other, price));
    if (at !== -1) this.#prices.splice(at, 1);
    this.#gone.push(priceField(price));
  }

  /** The newest price that is settled. It is no longer undecided. */
  settlePrice(price: PriceKey): void {
    this.#price = priceField(price);
    this.#gone.push(this.#price);
  }

  /** Removes a trade from the recent ones. */
  retract(id: string): void {
    const at = this.#recent.findLastIndex((trade) => trade.id === id);
    if (at === -1) this.#retracted.push(id);
    else this.#recent.splice(at, 1);
  }

  /** Null if nothing changed. */
  change(): MintChange | null {
    const { mint, fold } = this;
    const buckets: BucketChange[] = [];
    if (fold !== null) {
      for (const [interval, byStart] of fold.tallies) for (const [startS, tally] of byStart) buckets.push({ interval, startS, tally });
    }
    const prices = this.#prices.map(({ slot, poolAddress, view }): UndecidedPrice => ({ slot, poolAddress, json: view.json }));
    const undecided = { trades: this.#trades, prices, gone: this.#gone };
    const changed =
      this.#recent.length + this.#retracted.length + this.#touched.length + this.#trades.length + this.#prices.length + this.#gone.length;
    if (fold === null && changed === 0) return null;
    return {
      mint,
      head: fold?.head ?? null,
      buckets,
      voided: fold?.voided ?? null,
      price: this.#price,
      trades: this.#recent.slice(-marketLimits.tradesPerMint).map(({ view }) => view.json),
      retracted: this.#retracted,
      undecided,
      touched: this.#touched,
      tradedS: this.#tradedS,
    };
  }
}

const isSame = (a: PriceKey, b: PriceKey): boolean => a.slot === b.slot && a.poolAddress === b.poolAddress;
