/** What is seen this far before the newest slot is not late: a node invented that slot, and it must not hold the price. */
const maxLateSlots = 64;

/**
 * The price of a token that counts while a slot goes on: the newest price of a slot that is decided, by the rule of `slot-prices.ts`. That is the
 * price of the slot before the last one: the median of the spot prices at the end of the three slots before this one. It follows the spot price of the
 * main pool as it is seen, and stores four numbers.
 */
export class SettledPrice {
  /** The spot price now, in the newest slot, and at the end of the three slots before. */
  #spot: number;
  #end1: number;
  #end2: number;
  #end3: number;
  #slot: number;
  /** No slot has ended. The price from before the first one is not known either, so its spot price counts. */
  #isFirst: boolean;

  /** `before`: the price that counted before this slot; null if it is not known. */
  constructor(slot: number, spot: number, before: number | null) {
    this.#slot = slot;
    this.#spot = spot;
    this.#end1 = this.#end2 = this.#end3 = before ?? spot;
    this.#isFirst = before === null;
  }

  /** The spot price of the main pool changed. What is seen after a later slot began adds nothing. */
  note(slot: number, spot: number): void {
    if (slot < this.#slot - maxLateSlots) this.forget();
    if (slot < this.#slot) return;
    this.#begin(slot);
    this.#spot = spot;
  }

  /** The price that counts during this slot, or during the newest one if that is later. */
  at(slot = this.#slot): number {
    const passed = slot - this.#slot;
    if (this.#isFirst || passed >= 2) return this.#spot;
    return passed === 1 ? median(this.#spot, this.#end1, this.#end2) : median(this.#end1, this.#end2, this.#end3);
  }

  /** The last slots are of a fork that died: the price that counted before them counts, and the next slot may be any. */
  forget(): void {
    this.#spot = this.#end1 = this.#end2 = this.#end3 = this.at();
    this.#slot = 0;
  }

  #begin(slot: number): void {
    const passed = slot - this.#slot;
    if (passed === 0) return;
    const isNext = passed === 1 && !this.#isFirst;
    this.#end3 = isNext ? this.#end2 : passed === 2 && !this.#isFirst ? this.#end1 : this.#spot;
    this.#end2 = isNext ? this.#end1 : this.#spot;
    this.#end1 = this.#spot;
    this.#slot = slot;
    this.#isFirst = false;
  }
}

function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
