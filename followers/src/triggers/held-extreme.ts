/** Most steps that are remembered. Above this limit two are joined, so that an old value counts a little longer. */
const maxSteps = 128;

/**
 * The highest value within a time, of a value that changes in steps. It is used to find out how long a value has been at most another one.
 *
 * The value of a slot is the last one in it. A value that is replaced within its slot does not count, and the time of the last change of a slot is the
 * time of its value. So what is undone within a slot neither begins nor interrupts anything.
 */
export class HeldExtreme {
  /** The value now. */
  current: number;
  #slot: number;
  /** Values that were replaced, and when: decreasing values, increasing times. Before the first one the value is unknown. */
  readonly #values: number[];
  readonly #ends: number[];

  /** `slot`: NaN if the value is of no slot. */
  constructor(nowMs: number, value: number, slot: number) {
    this.current = value;
    this.#slot = slot;
    this.#values = [Number.POSITIVE_INFINITY];
    this.#ends = [nowMs];
  }

  /** Whether the value replaces that of its slot. */
  isOfSlot(slot: number): boolean {
    return slot === this.#slot;
  }

  push(nowMs: number, value: number, slot: number): void {
    const values = this.#values;
    const ends = this.#ends;
    if (slot === this.#slot) {
      ends[ends.length - 1] = nowMs;
      this.current = value;
      return;
    }
    while (values.length > 0 && values.at(-1)! <= this.current) {
      values.pop();
      ends.pop();
    }
    values.push(this.current);
    ends.push(nowMs);
    this.current = value;
    this.#slot = slot;
    if (values.length > maxSteps) this.#joinPairs();
  }

  /** The highest value of the last `withinMs`; infinite if it is not known for so long. */
  max(nowMs: number, withinMs: number): number {
    const ends = this.#ends;
    let gone = 0;
    while (gone < ends.length && ends[gone]! <= nowMs - withinMs) gone++;
    const isAllGone = gone === ends.length;
    // The slot that goes on may replace its value, so the value before it is needed further.
    const dropped = isAllGone ? gone - 1 : gone;
    if (dropped > 0) {
      ends.splice(0, dropped);
      this.#values.splice(0, dropped);
    }
    return isAllGone ? this.current : Math.max(this.current, this.#values[0]!);
  }

  /** When the last value above `limit` was replaced; null if none is remembered. */
  lastAbove(limit: number): number | null {
    const at = this.#values.findLastIndex((value) => value > limit);
    return at === -1 ? null : this.#ends[at]!;
  }

  #joinPairs(): void {
    const half = this.#values.length >> 1;
    for (let at = 0; at < half; at++) {
      this.#values[at] = this.#values[2 * at]!;
      this.#ends[at] = this.#ends[2 * at + 1]!;
    }
    const odd = this.#values.length % 2 === 1;
    if (odd) {
      this.#values[half] = this.#values.at(-1)!;
      this.#ends[half] = this.#ends.at(-1)!;
    }
    this.#values.length = this.#ends.length = half + Number(odd);
  }
}
