import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
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
  async none(withinMs: number, clock = systemClock): Promise<number> {
    if (this.#open === 0) return 0;
    let cancel = (): void => undefined;
    await new Promise<void>((resolve) => {
      this.#onNone = resolve;
      cancel = clock.after(withinMs, resolve);
    });
    cancel();
    return this.#open;
  }
}
