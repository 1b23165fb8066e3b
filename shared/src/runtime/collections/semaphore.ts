/** Runs at most `limit` pieces of work at one time. The others wait in order of arrival. */
export class Semaphore {
  readonly #limit: number;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether `run` would begin its work without waiting. */
  get hasRoom(): boolean {
    return this.#running < this.#limit;
  }

  /** Pieces of work that run or wait. */
  get size(): number {
    return this.#running + this.#queue.length;
  }

  /** Pieces of work that wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.hasRoom) this.#running++;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await work();
    } finally {
      // Passes the place on directly, so that a newcomer cannot get it first.
      const next = this.#queue.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
