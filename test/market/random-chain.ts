import { array, boolean, constant, integer, oneof, record, type Arbitrary } from 'fast-check';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { accountTradesTopic, allTradesTopic, pricesTopic, tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { entryOf, priceEvent } from '../support/events/stream-events.ts';
import { someS, tradeOf } from './trades.ts';

/** One step of the chain, or of the reports about it. */
type Step =
  | { readonly does: 'slot' }
  | {
      readonly does: 'trade';
      readonly back: number;
      readonly tokens: number;
      readonly price: number;
      readonly before: number;
      readonly usd: boolean;
    }
  | { readonly does: 'confirm'; readonly slots: number }
  | { readonly does: 'die'; readonly relands: boolean };

const tradeStep: Arbitrary<Step> = record({
  does: constant('trade' as const),
  back: integer({ min: 0, max: 2 }),
  tokens: integer({ min: 1, max: 4096 }),
  price: integer({ min: 1, max: 64 }).map((n) => n / 64),
  // Never equal to a price, so that the candles do not depend on the order of arrival.
  before: integer({ min: 0, max: 63 }).map((n) => (2 * n + 1) / 128),
  usd: boolean(),
});

/** Slots begin, contain trades, are confirmed, or die; transactions of a dead slot may land again. */
export const chainSteps: Arbitrary<readonly Step[]> = array(
  oneof(
    { weight: 4, arbitrary: constant<Step>({ does: 'slot' }) },
    { weight: 8, arbitrary: tradeStep },
    { weight: 2, arbitrary: record({ does: constant('confirm' as const), slots: integer({ min: 1, max: 6 }) }) },
    { weight: 2, arbitrary: record({ does: constant('die' as const), relands: boolean() }) },
  ),
  { minLength: 1, maxLength: 150 },
);

const firstSlot = 380_146_000;

/** A random chain: the entries of its log, and the events that are valid in the end. */
export class RandomChain {
  readonly entries: BusEntry[] = [];
  readonly #mint: string;
  readonly #trades: TradeEvent[] = [];
  readonly #prices: PriceEvent[] = [];
  #slot = firstSlot;
  #confirmed = firstSlot - 1;
  #tickSlot = 0;
  readonly #dead = new Set<number>();

  constructor(mint: string, steps: readonly Step[]) {
    this.#mint = mint;
    for (const step of steps) this.#step(step);
  }

  /** Trades that were not retracted, in chain order. */
  get inChainOrder(): TradeEvent[] {
    return this.#trades.toSorted((a, b) => a.slot - b.slot);
  }

  /** The same in log order. */
  get inLogOrder(): readonly TradeEvent[] {
    return this.#trades;
  }

  get newestPrice(): PriceEvent | null {
    return this.#prices.toSorted((a, b) => a.slot - b.slot).at(-1) ?? null;
  }

  #step(step: Step): void {
    if (step.does === 'slot') this.#slot++;
    else if (step.does === 'confirm') this.#confirm(Math.min(this.#slot, this.#confirmed + step.slots));
    else if (step.does === 'die') this.#die(step.relands);
    else {
      const slot = this.#slot - step.back;
      // A trade that is read after its slot was decided is a sequence of its own.
      if (this.#dead.has(slot) || slot <= this.#confirmed) return;
      const { tokens, price, before } = step;
      const trade = tradeOf({
        mint: this.#mint,
        atS: someS + Math.floor((slot - firstSlot) * 0.4),
        tokens,
        price,
        before,
        solUsd: step.usd ? 128 : null,
      });
      this.#publish({ ...trade, slot });
    }
  }

  #publish(trade: TradeEvent): void {
    this.#trades.push(trade);
    this.entries.push(entryOf(trade));
    if (trade.slot < this.#tickSlot) return;
    this.#tickSlot = trade.slot;
    const { id, slot, poolAddress, pool, commitment, priceQuote } = trade;
    const price = { ...priceEvent(this.#mint), id: `${id}.price`, slot, poolAddress, pool, commitment, priceQuote: priceQuote! };
    this.#prices.push(price);
    this.entries.push(entryOf(price));
  }

  #confirm(to: number): void {
    const alive: number[] = [];
    const dead: number[] = [];
    for (let slot = this.#confirmed + 1; slot <= to; slot++) (this.#dead.has(slot) ? dead : alive).push(slot);
    this.#confirmed = to;
    this.entries.push(verdictEntry({ alive, dead }));
  }

  /** The oldest unconfirmed slot dies: its events are retracted, the newest first. */
  #die(relands: boolean): void {
    let slot = this.#confirmed + 1;
    while (this.#dead.has(slot)) slot++;
    if (slot > this.#slot) return;
    this.#dead.add(slot);
    const gone = this.#trades.filter((trade) => trade.slot === slot && trade.commitment === 'processed');
    for (const trade of gone.toReversed()) {
      this.#trades.splice(this.#trades.indexOf(trade), 1);
      const price = this.#prices.find(({ id }) => id === `${trade.id}.price`);
      if (price !== undefined) {
        this.#prices.splice(this.#prices.indexOf(price), 1);
        this.entries.push(entryOf({ type: 'retract', id: price.id }, [pricesTopic(this.#mint)]));
      }
      this.entries.push(
        entryOf({ type: 'retract', id: trade.id }, [allTradesTopic, tradesTopic(this.#mint), accountTradesTopic(trade.trader)]),
      );
    }
    this.#tickSlot = 0;
    if (!relands || gone.length === 0) return;
    if (slot === this.#slot) this.#slot++;
    for (const trade of gone) this.#publish({ ...trade, slot: this.#slot, blockTime: someS + Math.floor((this.#slot - firstSlot) * 0.4) });
  }
}
