/**
 * A map by topic, in the order of insertion. The first entry is stored without a `Map` until a second one comes: most connections
 * follow one topic, and a `Map` allocates room for four.
 */
export class TopicMap<Value extends object> {
  #topic = '';
  #value: Value | null = null;
  /** All entries, once there have been two. */
  #map: Map<string, Value> | null = null;

  get size(): number {
    return this.#map?.size ?? (this.#value === null ? 0 : 1);
  }

  get(topic: string): Value | undefined {
    if (this.#map !== null) return this.#map.get(topic);
    return this.#value !== null && this.#topic === topic ? this.#value : undefined;
  }

  has(topic: string): boolean {
    return this.get(topic) !== undefined;
  }

  set(topic: string, value: Value): void {
    if (this.#map !== null) this.#map.set(topic, value);
    else if (this.#value === null || this.#topic === topic) {
      this.#topic = topic;
      this.#value = value;
    } else {
      this.#map = new Map([
        [this.#topic, this.#value],
        [topic, value],
      ]);
      this.#value = null;
    }
  }

  delete(topic: string): void {
    if (this.#map !== null) this.#map.delete(topic);
    else if (this.#topic === topic) this.#value = null;
  }

  /** As in a `Map`, entries deleted during the iteration are not visited. */
  *entries(): Generator<readonly [string, Value]> {
    if (this.#map !== null) yield* this.#map;
    else if (this.#value !== null) yield [this.#topic, this.#value];
  }

  *keys(): Generator<string> {
    for (const [topic] of this.entries()) yield topic;
  }
}
