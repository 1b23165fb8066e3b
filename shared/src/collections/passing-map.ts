/**
 * A Map for what is under way: of its entries many come and go, and each holds much. A Map (and a Set) that has been used up for additions
 * goes on in a new table, to which the engine links the old one with all that stood in it then. Where one such table lies among the old
 * objects, the collections of young ones keep every later table alive, and with them whatever stood there, until the next full one.
 * Here an entry's value is let go when the entry is.
 */
export class PassingMap<K, V> {
  readonly #cells = new Map<K, { value: V | undefined }>();

  get size(): number {
    return this.#cells.size;
  }

  has(key: K): boolean {
    return this.#cells.has(key);
  }

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value;
  }

  set(key: K, value: V): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, { value });
    else cell.value = value;
  }

  /** Gives the value, which is here no more. */
  take(key: K): V | undefined {
    const cell = this.#cells.get(key);
    if (cell === undefined) return undefined;
    const { value } = cell;
    cell.value = undefined;
    this.#cells.delete(key);
    return value;
  }

  delete(key: K): boolean {
    const cell = this.#cells.get(key);
    if (cell === undefined) return false;
    cell.value = undefined;
    return this.#cells.delete(key);
  }

  clear(): void {
    for (const cell of this.#cells.values()) cell.value = undefined;
    this.#cells.clear();
  }

  *entries(): IterableIterator<readonly [K, V]> {
    for (const [key, { value }] of this.#cells) yield [key, value as V];
  }

  *values(): IterableIterator<V> {
    for (const { value } of this.#cells.values()) yield value as V;
  }
}
