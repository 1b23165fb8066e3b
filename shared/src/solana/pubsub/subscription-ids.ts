import type { Subscription } from './subscription.ts';

/** For this long after the last request, a notification may arrive before the answer that contains its subscription's id. */
const overtakeMs = 10_000;
/** Ids of ended subscriptions, for which notifications may still arrive. The oldest are forgotten. */
const maxEndedIds = 4_096;

/** The ids of requests and subscriptions on one connection. */
export class SubscriptionIds {
  /** Subscription id of the endpoint -> subscription. */
  readonly active = new Map<number, Subscription>();
  /** Request id -> subscription without an answer yet. */
  readonly #pending = new Map<number, Subscription>();
  /** Ids of requests that end a subscription. */
  readonly #ending = new Set<number>();
  /** Ids that were in `active` earlier. */
  readonly #ended = new Set<number>();
  #lastRequestId = 0;
  #lastAskedAtMs = 0;

  /** Forgets everything of the previous connection. Request ids continue. */
  clear(): void {
    this.active.clear();
    this.#pending.clear();
    this.#ending.clear();
    this.#ended.clear();
  }

  isAsked(name: string): boolean {
    return [...this.#pending.values(), ...this.active.values()].some((asked) => asked.name === name);
  }

  get isRequiredPending(): boolean {
    return [...this.#pending.values()].some(({ required }) => required);
  }

  /** Returns the id of the request. */
  ask(subscription: Subscription, nowMs: number): number {
    this.#lastAskedAtMs = nowMs;
    this.#pending.set(++this.#lastRequestId, subscription);
    return this.#lastRequestId;
  }

  /** Ends an active subscription. Returns the id of the request. */
  end(subscriptionId: number): number {
    this.active.delete(subscriptionId);
    this.#ended.add(subscriptionId);
    if (this.#ended.size > maxEndedIds) this.#ended.delete(this.#ended.values().next().value!);
    this.#ending.add(++this.#lastRequestId);
    return this.#lastRequestId;
  }

  /** The subscription that a reply answers; `ended` if it answers the end of one; null if it answers nothing. */
  takeReply(requestId: number): Subscription | 'ended' | null {
    const subscription = this.#pending.get(requestId);
    this.#pending.delete(requestId);
    return subscription ?? (this.#ending.delete(requestId) ? 'ended' : null);
  }

  /** A notification may arrive after its subscription ended, or before the answer that contains its id. */
  mayBeNotified(subscriptionId: unknown, nowMs: number): boolean {
    if (typeof subscriptionId === 'number' && (this.active.has(subscriptionId) || this.#ended.has(subscriptionId))) return true;
    return this.#pending.size > 0 && nowMs - this.#lastAskedAtMs <= overtakeMs;
  }
}
