/**
 * A Map for work in progress: many entries pass through it, and each holds much memory.
 *
 * When a Map (or a Set) has no room for further additions, it continues in a new table, and the engine links the old table, with all its
 * entries, to the new one. Once one such table is among the old objects, the collections of young objects keep every later table and its
 * entries alive, until the next full collection. This class releases the value of an entry as soon as the entry is deleted.
 */
export class TransientMap<K, V> {
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

  /** Returns the value and deletes the entry. */
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
