interface Kept<V> {
  readonly value: V;
  readonly weight: number;
  readonly untilMs: number;
}

/** Values for a time, by name, within a bound of their weights together: beyond it the one longest unused goes. */
export class LruCache<V> {
  readonly #kept = new Map<string, Kept<V>>();
  readonly #maxWeight: number;
  #weight = 0;

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight;
  }

  get size(): number {
    return this.#kept.size;
  }

  get weight(): number {
    return this.#weight;
  }

  /** Undefined where there is none, or its time is over. */
  get(name: string, nowMs: number): V | undefined {
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    this.#kept.delete(name);
    if (kept.untilMs <= nowMs) {
      this.#weight -= kept.weight;
      return undefined;
    }
    this.#kept.set(name, kept);
    return kept.value;
  }

  /** What alone is beyond the bound is not kept. */
  set(name: string, value: V, weight: number, untilMs: number): void {
    this.#drop(name);
    if (weight > this.#maxWeight) return;
    this.#kept.set(name, { value, weight, untilMs });
    this.#weight += weight;
    for (const [oldest] of this.#kept) {
      if (this.#weight <= this.#maxWeight) return;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#kept.delete(name);
    this.#weight -= kept.weight;
  }
}
