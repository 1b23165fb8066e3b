/**
 * Work that somebody may ask for: a burst, then so much a second. It is taken as long as anything is left and may end below
 * zero, so that what a command costs need not be known before it is carried out.
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

  /** Milliseconds until something is left; 0 where something is. */
  waitMs(nowMs: number): number {
    if (nowMs > this.#atMs) this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#atMs) * this.#perSecond) / 1000);
    this.#atMs = nowMs;
    return this.#left > 0 ? 0 : Math.ceil((-this.#left * 1000) / this.#perSecond) + 1;
  }

  /** Whether all that was spent has come back. */
  isWhole(nowMs: number): boolean {
    this.waitMs(nowMs);
    return this.#left >= this.#burst;
  }

  spend(work: number): void {
    this.#left -= work;
  }
}
