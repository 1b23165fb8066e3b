/** Runs at most `limit` pieces of work at one time. The others wait in the order in which they came. */
export class Semaphore {
  readonly #limit: number;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Work that runs or waits. */
  get size(): number {
    return this.#running + this.#queue.length;
  }

  /** Work that waits. */
  get waiting(): number {
    return this.#queue.length;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit) this.#running++;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await work();
    } finally {
      // The place goes to the next one directly, so that no newcomer can take it first.
      const next = this.#queue.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
