/**
 * Bounded map that forgets the least recently used entries, in halves: when the young half is full, it becomes the old half and the
 * previous old half is dropped. It holds the last `capacity / 2` to `capacity` keys used, and those that `retained` returned when the last half
 * was dropped. O(1) apart from `retained`, without a linked list.
 */
export class Recent<V> {
  readonly #half: number;
  readonly #retained: () => Iterable<readonly [key: string, value: V]>;
  #limit: number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  constructor(capacity: number, retained: () => Iterable<readonly [key: string, value: V]> = () => []) {
    this.#half = this.#limit = Math.max(1, capacity >>> 1);
    this.#retained = retained;
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  /** Like `get`, but does not count as a use. */
  peek(key: string): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  has(key: string): boolean {
    return this.#young.has(key) || this.#old.has(key);
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#limit && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map(this.#retained());
      this.#limit = this.#young.size + this.#half;
    }
    this.#young.set(key, value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  /** An entry that is in both halves is returned twice, the newer value last. */
  *entries(): Iterable<readonly [key: string, value: V]> {
    yield* this.#old;
    yield* this.#young;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
