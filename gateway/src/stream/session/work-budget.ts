/**
 * A budget of work: a burst, then a constant amount each second. A command is accepted while the budget is above zero, and may take it below zero,
 * so its cost need not be known in advance.
 */
export class WorkBudget {
  #left: number;
  #atMs: number;
  readonly #burst: number;
  readonly #perSecond: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#left = burst;
    this.#atMs = nowMs;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  /** Milliseconds until something is left; 0 if something is left now. */
  waitMs(nowMs: number): number {
    if (nowMs > this.#atMs) this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#atMs) * this.#perSecond) / 1000);
    this.#atMs = nowMs;
    return this.#left > 0 ? 0 : Math.ceil((-this.#left * 1000) / this.#perSecond) + 1;
  }

  isFull(nowMs: number): boolean {
    this.waitMs(nowMs);
    return this.#left >= this.#burst;
  }

  spend(work: number): void {
    this.#left -= work;
  }
}
