interface Cached<V> {
  readonly value: V;
  readonly weight: number;
  readonly untilMs: number;
}

/** Values by name, for a limited time and a limited total weight. If the weight is exceeded, the least recently used value is dropped. */
export class LruCache<V> {
  readonly #entries = new Map<string, Cached<V>>();
  readonly #maxWeight: number;
  #weight = 0;

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight;
  }

  get size(): number {
    return this.#entries.size;
  }

  get weight(): number {
    return this.#weight;
  }

  /** Undefined if there is none, or if it has expired. */
  get(name: string, nowMs: number): V | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    this.#entries.delete(name);
    if (entry.untilMs <= nowMs) {
      this.#weight -= entry.weight;
      return undefined;
    }
    this.#entries.set(name, entry);
    return entry.value;
  }

  /** A value that alone exceeds the bound is not stored. */
  set(name: string, value: V, weight: number, untilMs: number): void {
    this.delete(name);
    if (weight > this.#maxWeight) return;
    this.#entries.set(name, { value, weight, untilMs });
    this.#weight += weight;
    for (const [oldest] of this.#entries) {
      if (this.#weight <= this.#maxWeight) return;
      this.delete(oldest);
    }
  }

  delete(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#weight -= entry.weight;
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }
}
