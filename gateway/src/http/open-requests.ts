import type { HttpAnswer } from '../transport/transport.ts';

/** Counts the requests that wait for an answer, so that a gateway can wait for them before it exits. */
export class OpenRequests {
  #open = 0;
  #onNone: (() => void) | null = null;

  get open(): number {
    return this.#open;
  }

  count(answer: HttpAnswer | Promise<HttpAnswer>): HttpAnswer | Promise<HttpAnswer> {
    if (!(answer instanceof Promise)) return answer;
    this.#open++;
    return answer.finally(() => {
      this.#open--;
      if (this.#open === 0) this.#onNone?.();
    });
  }

  /** Resolves to the number of open requests: when it is 0, or after `withinMs`. */
  async none(withinMs: number): Promise<number> {
    if (this.#open === 0) return 0;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#onNone = resolve;
      timer = setTimeout(resolve, withinMs);
    });
    clearTimeout(timer);
    return this.#open;
  }
}
