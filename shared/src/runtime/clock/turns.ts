/** How long one piece of work may hold the event loop. */
const turnMs = 2;
const defaultStepsPerCheck = 64;

/** Divides long work into turns of the event loop. */
export class Turns {
  readonly #stepsPerCheck: number;
  #steps = 0;
  #beganAtMs = performance.now();

  /** `stepsPerCheck`: the number of steps between two checks of the time. */
  constructor(stepsPerCheck = defaultStepsPerCheck) {
    this.#stepsPerCheck = stepsPerCheck;
  }

  /** To be read after each step. If it is true, the turn is over, and the caller must await `pass`. */
  get isOver(): boolean {
    return ++this.#steps % this.#stepsPerCheck === 0 && performance.now() - this.#beganAtMs >= turnMs;
  }

  async pass(): Promise<void> {
    await new Promise(setImmediate);
    this.#beganAtMs = performance.now();
  }
}
