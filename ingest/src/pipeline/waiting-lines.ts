/** Events that wait until their pool is resolved, over all pools. Above this limit, the newest are refused. */
const maxWaiting = 20_000;

/**
 * Lines of waiting events, one for each pool, in order of arrival. While a pool has a line, its further events join it, so that none
 * overtakes another. Pools do not wait for each other.
 */
export class Lines<T> {
  waiting = 0;
  readonly #lines = new Map<string, T[]>();
  readonly #keyOf: (item: T) => string;
  /** Key -> number of waiting items. */
  readonly #keys = new Map<string, number>();

  /** `keyOf`: several items may share a key. */
  constructor(keyOf: (item: T) => string) {
    this.#keyOf = keyOf;
  }

  has(pool: string): boolean {
    return this.#lines.has(pool);
  }

  /** Whether an item with this key waits in any line. */
  hasKey(key: string): boolean {
    return this.#keys.has(key);
  }

  /** False if there is no space. */
  join(pool: string, item: T): boolean {
    if (this.waiting >= maxWaiting) return false;
    this.waiting++;
    const key = this.#keyOf(item);
    this.#keys.set(key, (this.#keys.get(key) ?? 0) + 1);
    const line = this.#lines.get(pool);
    if (line === undefined) this.#lines.set(pool, [item]);
    else line.push(item);
    return true;
  }

  head(pool: string): T | undefined {
    return this.#lines.get(pool)?.[0];
  }

  /** All waiting items, line by line. */
  *items(): Iterable<T> {
    for (const line of this.#lines.values()) yield* line;
  }

  /** Removes the first item of a line, and closes a line that is empty. */
  shift(pool: string): T | undefined {
    const line = this.#lines.get(pool);
    const item = line?.shift();
    if (item !== undefined) this.#left(item);
    if (line?.length === 0) this.#lines.delete(pool);
    return item;
  }

  /** Removes matching items from all lines. It closes no line. */
  drop(isMeant: (item: T) => boolean): void {
    for (const [pool, line] of this.#lines) {
      const left: T[] = [];
      for (const item of line) {
        if (isMeant(item)) this.#left(item);
        else left.push(item);
      }
      this.#lines.set(pool, left);
    }
  }

  /** Closes a line, and returns its items in order. */
  dissolve(pool: string): T[] {
    const line = this.#lines.get(pool) ?? [];
    this.#lines.delete(pool);
    for (const item of line) this.#left(item);
    return line;
  }

  #left(item: T): void {
    this.waiting--;
    const key = this.#keyOf(item);
    const count = this.#keys.get(key)!;
    if (count === 1) this.#keys.delete(key);
    else this.#keys.set(key, count - 1);
  }
}
