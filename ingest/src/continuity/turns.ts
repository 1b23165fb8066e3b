/** How long one piece of work may keep the event loop from all else, and how often the clock is looked at. */
const turnMs = 3;
const stepsPerLook = 64;

/** Divides long work into turns of the event loop. */
export class Turns {
  #steps = 0;
  #beganAtMs = performance.now();

  /** After one step: true where it is somebody else's turn, then `pass` is to be awaited. */
  get isOver(): boolean {
    return ++this.#steps % stepsPerLook === 0 && performance.now() - this.#beganAtMs >= turnMs;
  }

  async pass(): Promise<void> {
    await new Promise(setImmediate);
    this.#beganAtMs = performance.now();
  }
}
