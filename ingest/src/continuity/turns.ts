/** How long one piece of work may hold the event loop. */
const turnMs = 2;
const defaultStepsPerLook = 64;

/** Divides long work into turns of the event loop. */
export class Turns {
  readonly #stepsPerLook: number;
  #steps = 0;
  #beganAtMs = performance.now();

  /** `stepsPerLook`: how many steps pass between two looks at the clock. */
  constructor(stepsPerLook = defaultStepsPerLook) {
    this.#stepsPerLook = stepsPerLook;
  }

  /** To be read after each step. If it is true, the turn is over, and the caller must await `pass`. */
  get isOver(): boolean {
    return ++this.#steps % this.#stepsPerLook === 0 && performance.now() - this.#beganAtMs >= turnMs;
  }

  async pass(): Promise<void> {
    await new Promise(setImmediate);
    this.#beganAtMs = performance.now();
  }
}
