/**
 * Runs pieces of work in order, for `turnMs` at a time. Between two turns other work of the thread can run. Each turn runs inside `around`.
 * The queue has no bound: the owner calls `finish` before it becomes too long.
 */
export class Turns {
  readonly #turnMs: number;
  readonly #around: (turn: () => void) => void;
  #work: Iterator<void>[] = [];
  #next: NodeJS.Immediate | null = null;

  constructor(turnMs: number, around: (turn: () => void) => void) {
    this.#turnMs = turnMs;
    this.#around = around;
  }

  /** Starts at once if nothing waits. Each `yield` of `work` is a place to pause. */
  add(work: Iterator<void>): void {
    this.#work.push(work);
    if (this.#next === null) this.#turn(this.#turnMs);
  }

  /** Runs everything that waits, now. */
  finish(): void {
    if (this.#next !== null) clearImmediate(this.#next);
    this.#next = null;
    if (this.#work.length > 0) this.#turn(Infinity);
  }

  close(): void {
    this.#work = [];
    this.finish();
  }

  #turn(turnMs: number): void {
    const endsAtMs = performance.now() + turnMs;
    this.#around(() => {
      for (let [first] = this.#work; first !== undefined; [first] = this.#work) {
        if (first.next().done === true) this.#work.shift();
        if (performance.now() >= endsAtMs) break;
      }
    });
    this.#next = this.#work.length === 0 ? null : setImmediate(() => this.#turn(this.#turnMs));
  }
}
