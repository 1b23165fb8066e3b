import { whenAborted, type Abortable } from './when-aborted.ts';

/**
 * The end of one piece of work: its time has run out, one of the sources has fired, or it was `cut`. Listened to by `whenAborted`.
 * No `AbortSignal`: what `AbortSignal.any` makes of `AbortSignal.timeout` is, on Node 20, taken away by a collection of garbage before it
 * fires, and then it, with all that listens, is never collected; and every signal outlives the collections of young objects, with
 * all that hangs on it, until the next full one.
 */
export class Deadline {
  readonly #listeners = new Set<() => void>();
  readonly #timer: NodeJS.Timeout;
  readonly #forget: readonly (() => void)[];
  #aborted = false;
  #passed = false;

  constructor(ms: number, sources: readonly (Abortable | undefined)[]) {
    this.#timer = setTimeout(() => {
      this.#passed = !this.#aborted;
      this.cut();
    }, ms);
    this.#timer.unref();
    this.#forget = sources.flatMap((source) => (source === undefined ? [] : [whenAborted(source, () => this.cut())]));
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Whether it fired because the time had run out. */
  get passed(): boolean {
    return this.#passed;
  }

  /** Ends the work early. */
  cut(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** The work is over; the sources forget it. */
  end(): void {
    clearTimeout(this.#timer);
    for (const forget of this.#forget) forget();
  }

  /** For `whenAborted`. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

export function startDeadline(ms: number, ...sources: readonly (Abortable | undefined)[]): Deadline {
  return new Deadline(ms, sources);
}
