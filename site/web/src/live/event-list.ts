/** The newest events of one kind, newest first. If there are too many, the oldest event that the filters hide is dropped first. */
export class EventList<T extends { readonly id: string }> {
  readonly #events: T[] = [];
  readonly #limit: number;
  readonly #isShown: (event: T) => boolean;

  constructor(limit: number, isShown: (event: T) => boolean) {
    this.#limit = limit;
    this.#isShown = isShown;
  }

  get newestFirst(): readonly T[] {
    return [...this.#events];
  }

  add(event: T): void {
    this.#events.unshift(event);
    if (this.#events.length <= this.#limit) return;
    const hidden = this.#events.findLastIndex((one) => !this.#isShown(one));
    this.#events.splice(hidden === -1 ? this.#limit : hidden, 1);
  }

  remove(id: string): void {
    const at = this.#events.findIndex((event) => event.id === id);
    if (at !== -1) this.#events.splice(at, 1);
  }

  clear(): void {
    this.#events.length = 0;
  }
}
