import { whenAborted, type Abortable } from './when-aborted.ts';

/**
 * The end of one piece of work: its time has run out, a source has fired, or it was `cut`. Listen to it with `whenAborted`.
 *
 * It replaces `AbortSignal` for two reasons. On Node 20, garbage collection can remove a signal of `AbortSignal.any` over
 * `AbortSignal.timeout` before it fires, and then it is never freed, with everything that listens. And every signal survives the
 * collections of young objects, with everything that it references, until the next full collection.
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

  /** Call this when the work is over; the sources then drop their references. */
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
