import type { OrderAnswer } from '../order-call.ts';

/** Calls that are remembered. The oldest is forgotten first. */
const maxCalls = 20_000;

/** Calls that this gateway ran, by id, so that a call that arrives again is not run again. */
export class AnsweredCalls {
  readonly #calls = new Map<string, { readonly endsAtMs: number; answer: OrderAnswer | null }>();

  has(id: string): boolean {
    return this.#calls.has(id);
  }

  /** The answer of a call; null as long as it runs, and for an unknown call. */
  answerTo(id: string): OrderAnswer | null {
    return this.#calls.get(id)?.answer ?? null;
  }

  /** Remembers a call that begins, until the time given. */
  begin(id: string, endsAtMs: number, nowMs: number): void {
    for (const [oldest, { endsAtMs: endMs }] of this.#calls) {
      if (endMs > nowMs && this.#calls.size < maxCalls) break;
      this.#calls.delete(oldest);
    }
    this.#calls.set(id, { endsAtMs, answer: null });
  }

  end(id: string, answer: OrderAnswer): void {
    const call = this.#calls.get(id);
    if (call !== undefined) call.answer = answer;
  }
}
