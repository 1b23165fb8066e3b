import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { OrderAnswer } from '../order-call.ts';
import type { HandedCall } from './handed-record.ts';

const forAMoment = { error: 'UPSTREAM_UNAVAILABLE', retryAfterSeconds: 1 } as const;

export const nobodyTrades: OrderAnswer = { ...forAMoment, message: 'No gateway is known to hold the trading role. Nothing was placed.' };

export const tooManyWait: OrderAnswer = {
  ...forAMoment,
  message: 'Too many orders wait for the gateway that holds the trading role. Nothing was placed.',
};

/** For a call that cannot spend and that no holder of the role answered. */
const noAnswer: OrderAnswer = { ...forAMoment, message: 'The gateway that holds the trading role did not answer in time.' };

/** For a call that a holder of the role may have run, or may still run. */
function uncertain(idempotencyKey: string | null): OrderAnswer {
  return {
    ...forAMoment,
    message:
      'The gateway that holds the trading role did not answer in time, so the order may or may not be placed. Send it again with the Idempotency-Key in details: it is placed at most once.',
    details: { idempotencyKey },
  };
}

/** Whether everything that was asked for was done. Otherwise a later holder of the role may do it, or the rest of a batch. */
function isWhole(answer: OrderAnswer): boolean {
  if ('error' in answer) return false;
  const results = 'json' in answer && isRecord(answer.json) ? answer.json['results'] : null;
  return !Array.isArray(results) || results.every((result) => isRecord(result) && 'orderId' in result);
}

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
    if (isWhole(answer)) return this.resolve(answer);
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
