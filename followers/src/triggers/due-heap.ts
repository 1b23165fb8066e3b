/** Items by the time at which they are due, the earliest first. */
export class DueHeap<Item> {
  readonly #items: Item[] = [];
  readonly #times: number[] = [];

  get length(): number {
    return this.#items.length;
  }

  /** Infinity if there is none. */
  get nextMs(): number {
    return this.#times[0] ?? Number.POSITIVE_INFINITY;
  }

  push(item: Item, dueMs: number): void {
    const items = this.#items;
    const times = this.#times;
    let at = items.length;
    items.push(item);
    times.push(dueMs);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (times[parent]! <= dueMs) break;
      items[at] = items[parent]!;
      times[at] = times[parent]!;
      at = parent;
    }
    items[at] = item;
    times[at] = dueMs;
  }

  /** The next item that is due at this time; undefined if none is. */
  pop(nowMs: number): Item | undefined {
    const first = this.#items[0];
    if (first === undefined || this.nextMs > nowMs) return undefined;
    const item = this.#items.pop()!;
    const dueMs = this.#times.pop()!;
    if (this.#items.length > 0) this.#sink(item, dueMs);
    return first;
  }

  /** Drops the others. */
  retain(isNeeded: (item: Item, dueMs: number) => boolean): void {
    const needed = this.#items.flatMap((item, at) => (isNeeded(item, this.#times[at]!) ? [{ item, dueMs: this.#times[at]! }] : []));
    this.#items.length = this.#times.length = 0;
    for (const { item, dueMs } of needed) this.push(item, dueMs);
  }

  #sink(item: Item, dueMs: number): void {
    const items = this.#items;
    const times = this.#times;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && times[child + 1]! < times[child]!) child++;
      if (times[child]! >= dueMs) break;
      items[at] = items[child]!;
      times[at] = times[child]!;
      at = child;
    }
    items[at] = item;
    times[at] = dueMs;
  }
}
