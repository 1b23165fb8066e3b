import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { TransientMap } from '@sluice/shared/runtime/collections/transient-map.ts';
import type { Evidence } from '@sluice/gateway/store/order-model/life.ts';
import type { OrderState, OpenOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { Landing, TrackedOrder } from './evidence/tracked-order.ts';

/** Maximum number of open orders that are followed at a time. At this number, no order is accepted (`hasRoom`) or claimed. */
export const maxFollowed = 10_000;

export const noFollowerCounts = {
  polls: 0,
  heights: 0,
  malformed: 0,
  unanswered: 0,
  followed: 0,
  takenOver: 0,
  forgotten: 0,
  advanced: 0,
  stale: 0,
  contradictions: 0,
  storeFailures: 0,
  refused: 0,
};
export type FollowerCounters = typeof noFollowerCounts;

/** An order that is followed, with the state of its follower. */
export interface Followed extends TrackedOrder {
  /** Whether the broadcaster is sending its message repeatedly. */
  sending: boolean;
  /** It comes from the store: its gateway may have ended before it sent the message. */
  readonly isFromStore: boolean;
  /** The landed transaction that is being read, and when the read began (steady clock); null if no read is in progress. */
  beingRead: { readonly landing: Landing; readonly sinceMs: number } | null;
  /** Whether a contradiction of this order was logged. */
  contradicted: boolean;
  /** The evidence of its last check. */
  evidence: Evidence | null;
}

/** For each state: how many orders are in it, and for how long the oldest has been in it. */
export type OpenByState = ReadonlyMap<OrderState, { readonly orders: number; readonly oldestMs: number }>;

/** The orders that are followed, by id and by signature. */
export class FollowedOrders {
  readonly #nodes: number;
  readonly #clock: Clock;
  readonly #byId = new TransientMap<string, Followed>();
  /** Several owners may each have an order with the same signature, because any client may submit a transaction that it saw on the chain. */
  readonly #bySignature = new TransientMap<string, Set<Followed>>();
  readonly #withMessage = new TransientMap<string, Followed>();

  /** `nodes`: number of nodes that report statuses. */
  constructor(nodes: number, clock: Clock) {
    this.#nodes = nodes;
    this.#clock = clock;
  }

  get size(): number {
    return this.#byId.size;
  }

  get hasRoom(): boolean {
    return this.#byId.size < maxFollowed;
  }

  /** The orders that have a message. */
  get withMessage(): Pick<TransientMap<string, Followed>, 'size' | 'values'> {
    return this.#withMessage;
  }

  [Symbol.iterator](): Iterator<Followed> {
    return this.#byId.values();
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Whether this object is still followed. Its id may be followed again with a new object. */
  isFollowed(followed: Followed): boolean {
    return this.#byId.get(followed.order.id) === followed;
  }

  ofSignature(signature: string): Iterable<Followed> {
    return this.#bySignature.get(signature) ?? [];
  }

  /** The order must be open and not followed yet. */
  add(order: OpenOrder, isFromStore = false): Followed {
    const followed: Followed = {
      order,
      signature: order.signature ?? '',
      lastValidBlockHeight: order.lastValidBlockHeight,
      sinceMs: this.#clock.steadyMs(),
      views: Array.from({ length: this.#nodes }, () => null),
      seenAtMs: -Infinity,
      reading: null,
      sending: false,
      isFromStore,
      beingRead: null,
      contradicted: false,
      evidence: null,
    };
    this.#byId.set(order.id, followed);
    if (order.signature === null) return followed;
    this.#withMessage.set(order.id, followed);
    const same = this.#bySignature.get(order.signature);
    if (same === undefined) this.#bySignature.set(order.signature, new Set([followed]));
    else same.add(followed);
    return followed;
  }

  /** Returns whether it was the last order with its signature. */
  remove(followed: Followed): boolean {
    this.#byId.delete(followed.order.id);
    this.#withMessage.delete(followed.order.id);
    const same = this.#bySignature.get(followed.signature);
    same?.delete(followed);
    if (same?.size !== 0) return false;
    this.#bySignature.delete(followed.signature);
    return true;
  }

  openByState(nowMs: number): OpenByState {
    const states = new Map<OrderState, { orders: number; oldestMs: number }>();
    for (const { order } of this.#byId.values()) {
      const ageMs = Math.max(0, nowMs - order.updatedAtMs);
      const known = states.get(order.state);
      if (known === undefined) states.set(order.state, { orders: 1, oldestMs: ageMs });
      else {
        known.orders++;
        known.oldestMs = Math.max(known.oldestMs, ageMs);
      }
    }
    return states;
  }
}
