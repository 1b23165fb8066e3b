import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Principal } from '../auth/principal.ts';
import type { LimitDecision, Quota, CountingLimiter } from './limiter.ts';
import { RequestMinutes } from './request-minutes.ts';

/** The limits of keys, and the requests that were counted against them. */
export class KeyLimits {
  readonly minutes = new RequestMinutes();
  readonly #limiter: CountingLimiter;
  readonly #clock: Pick<Clock, 'wallMs'>;

  constructor(limiter: CountingLimiter, clock: Pick<Clock, 'wallMs'>) {
    [this.#limiter, this.#clock] = [limiter, clock];
  }

  /** Takes `cost` requests from the limit of a key; 0 only reads it. */
  take({ keyId, plan }: Principal, cost: number): LimitDecision | Promise<LimitDecision> {
    const taken = this.#limiter.take(`key:${keyId}`, { perMinute: plan.requestsPerMinute, burst: plan.burst }, cost);
    if (cost === 0) return taken;
    return taken instanceof Promise ? taken.then((decision) => this.#noted(keyId, decision, cost)) : this.#noted(keyId, taken, cost);
  }

  /** Takes one request from a limit that is for our own page. */
  takeForPage({ keyId }: Principal, quota: Quota): LimitDecision | Promise<LimitDecision> {
    return this.#limiter.take(`page:${keyId}`, quota, 1);
  }

  #noted(keyId: string, decision: LimitDecision, requests: number): LimitDecision {
    this.minutes.note(keyId, decision.admitted, this.#clock.wallMs(), requests);
    return decision;
  }
}
