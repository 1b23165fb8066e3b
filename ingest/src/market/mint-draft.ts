import type { Fold } from '@sluice/shared/market/fold.ts';
import { marketLimits, type BucketChange, type MintChange } from '@sluice/shared/market/market.ts';
import { priceField, tradeField, type UndecidedPrice, type UndecidedTrade } from '@sluice/shared/market/undecided.ts';

/** What a batch changes of one mint, as it is put together. */
export class MintDraft {
  readonly mint: string;
  /** What it settles; null where nothing. */
  fold: Fold | null = null;
  /** The price event that it settles. */
  price: Uint8Array | null = null;
  /** Seconds in which what readers are told changed. */
  readonly touched = new Set<number>();
  readonly #trades = new Map<string, UndecidedTrade>();
  readonly #prices = new Map<string, UndecidedPrice>();
  readonly #gone = new Set<string>();
  #told: { readonly id: string; readonly json: Uint8Array }[] = [];
  readonly #retracted: string[] = [];
  #tradedS = 0;

  constructor(mint: string) {
    this.mint = mint;
  }

  /** `json`: as published. */
  addTrade(one: UndecidedTrade, json: Uint8Array): void {
    const { kind, id, atS } = one.trade;
    this.#trades.set(tradeField(one), one);
    if (kind === 'migration') return;
    this.#told.push({ id, json });
    if (atS > this.#tradedS) this.#tradedS = atS;
  }

  addPrice(price: UndecidedPrice): void {
    const field = priceField(price);
    this.#prices.set(field, price);
    this.#gone.delete(field);
  }

  /** One is not undecided any more. */
  dropTrade(one: UndecidedTrade): void {
    const field = tradeField(one);
    // One of this batch was never stored.
    if (!this.#trades.delete(field)) this.#gone.add(field);
  }

  dropPrice(price: UndecidedPrice): void {
    const field = priceField(price);
    this.#prices.delete(field);
    this.#gone.add(field);
  }

  /** A trade is not among the recent ones any more. */
  takeBack(id: string): void {
    const before = this.#told.length;
    this.#told = this.#told.filter((told) => told.id !== id);
    if (this.#told.length === before) this.#retracted.push(id);
  }

  /** Null where it came to nothing. */
  change(): MintChange | null {
    const { mint, fold, price, touched } = this;
    const buckets: BucketChange[] = [];
    for (const [interval, byStart] of fold?.tallies ?? []) {
      for (const [startS, tally] of byStart) buckets.push({ interval, startS, tally });
    }
    const trades = this.#told.slice(-marketLimits.tradesPerMint).map(({ json }) => json);
    const undecided = { trades: [...this.#trades.values()], prices: [...this.#prices.values()], gone: [...this.#gone] };
    const isNothing =
      fold === null &&
      trades.length + this.#retracted.length + touched.size + undecided.trades.length + undecided.prices.length + undecided.gone.length ===
        0;
    if (isNothing) return null;
    const head = fold?.head ?? null;
    return {
      ...{ mint, head, buckets, price, trades, undecided },
      retracted: this.#retracted,
      touched: [...touched],
      tradedS: this.#tradedS,
    };
  }
}
