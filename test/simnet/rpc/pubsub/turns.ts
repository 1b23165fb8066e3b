/**
 * Does pieces of work in the order in which they came, for `turnMs` at a stretch; whoever else waits for the thread gets a turn
 * between. What a turn does goes through `around`. Unbounded: the owner calls `finish` before more comes than it wants to hold.
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

  /** Begins at once where nothing waits. Each `yield` of `work` is a place to stop. */
  add(work: Iterator<void>): void {
    this.#work.push(work);
    if (this.#next === null) this.#turn(this.#turnMs);
  }

  /** Does all that waits, now. */
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
