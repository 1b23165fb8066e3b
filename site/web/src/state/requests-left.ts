/** What is left of a key's limit: what the last answer reported, what was requested since, and what has become available again. */
export class RequestsLeft {
  /** Null: no answer has reported it yet. */
  #last: { readonly perMinute: number; readonly most: number; requests: number; readonly atMs: number } | null = null;

  /** An answer reported the limit. `perMinute` is 0 if it did not. */
  note(perMinute: number, requests: number, atMs: number): void {
    if (perMinute <= 0) return;
    const most = this.#last?.perMinute === perMinute ? Math.max(this.#last.most, requests) : requests;
    this.#last = { perMinute, most, requests, atMs };
  }

  /** A request begins. */
  spend(): void {
    if (this.#last !== null) this.#last.requests--;
  }

  /**
   * What is left, divided by the most that an answer has reported; 1 if none has reported it. The limit of a minute would be the wrong divisor: a
   * key with 60,000 requests a minute and a burst of 10,000 never has more than 10,000 left.
   */
  share(nowMs: number): number {
    if (this.#last === null || this.#last.most === 0) return 1;
    const { perMinute, most, requests, atMs } = this.#last;
    return (requests + (perMinute * (nowMs - atMs)) / 60_000) / most;
  }
}
