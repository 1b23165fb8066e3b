/** Admits a bounded number at a time. A bounded number of others waits, in order. */
export class Turns {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(most: number, mostWaiting: number) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
  }

  /** False: too many wait. */
  take(): Promise<boolean> {
    if (this.#taken < this.#most) {
      this.#taken++;
      return Promise.resolve(true);
    }
    if (this.#waiting.length >= this.#mostWaiting) return Promise.resolve(false);
    return new Promise((resolve) => this.#waiting.push(() => resolve(true)));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken--;
    else next();
  }
}
