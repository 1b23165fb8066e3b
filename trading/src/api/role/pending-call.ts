import type { OrderAnswer } from '../order-call.ts';
import type { HandedCall } from './handed-record.ts';
import { nobodyTrades, noAnswer, uncertain } from './role-answers.ts';

interface CertainAnswer {
  readonly answer: OrderAnswer;
  /** False: a holder of the role may have placed the order, or may still place it. */
  readonly isCertain: boolean;
}

/**
 * A call of this gateway that waits for its answer. Several holders of the role may receive it, one after the other. Together they place at
 * most one order, so the success of any of them is the answer. A refusal is the answer only if no other holder can have run the call: after
 * a refusal, the client may place its order again.
 */
export class PendingCall {
  readonly handed: HandedCall;
  readonly answer: Promise<CertainAnswer>;
  readonly #maySpend: boolean;
  readonly #ended = new AbortController();
  /** Fences of the terms that may have run the call, or may still run it. */
  readonly #open = new Set<number>();
  #give: (answer: CertainAnswer) => void = () => undefined;

  constructor(handed: HandedCall, maySpend: boolean) {
    this.handed = handed;
    this.#maySpend = maySpend;
    this.answer = new Promise((resolve) => (this.#give = resolve));
  }

  /** Aborted as soon as there is an answer. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The call was sent to the holder with this fence, which may run it from now on. Returns false if it was sent there before. */
  sentTo(fence: number): boolean {
    if (fence === 0) return false;
    const isNew = !this.#open.has(fence);
    this.#open.add(fence);
    return isNew;
  }

  /** The call did not reach the holder with this fence. */
  notSentTo(fence: number): void {
    this.#open.delete(fence);
  }

  /** The holder with this fence answered, and does nothing more for the call. Null: it did not run the call, which is then sent to the next holder. */
  answered(fence: number, answer: OrderAnswer | null): void {
    this.#open.delete(fence);
    if (answer === null) return;
    if (!('error' in answer)) return this.resolve(answer);
    if (!this.#maySpend || this.#open.size === 0) return this.resolve(answer);
    // A later holder will answer. An earlier holder has ended or is late, so it is unknown what it did.
    if ([...this.#open].every((open) => open < fence)) this.#resolveUncertain();
  }

  /** The time for an answer is over. */
  expire(): void {
    if (!this.#maySpend) this.#resolve({ answer: noAnswer, isCertain: false });
    else if (this.#open.size === 0) this.resolve(nobodyTrades);
    else this.#resolveUncertain();
  }

  resolve(answer: OrderAnswer): void {
    this.#resolve({ answer, isCertain: true });
  }

  #resolveUncertain(): void {
    this.#resolve({ answer: uncertain(this.handed.call.idempotencyKey), isCertain: false });
  }

  #resolve(answer: CertainAnswer): void {
    this.#ended.abort();
    this.#give(answer);
  }
}
