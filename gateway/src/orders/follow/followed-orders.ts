import type { Clock } from '@sluice/shared/clock/clock.ts';
import { PassingMap } from '@sluice/shared/collections/passing-map.ts';
import type { Evidence } from '../model/life.ts';
import type { OrderState, OpenOrder } from '../model/order.ts';
import type { Landing, TrackedOrder } from '../evidence/tracked-order.ts';

/** Open orders followed at a time; beyond it none is taken over, and `hasRoom` says no. */
export const maxFollowed = 10_000;

/** An order that is followed, and how far its follower is with it. */
export interface Followed extends TrackedOrder {
  /** Its message is being sent, as far as this follower knows. */
  sending: boolean;
  /** It comes from the store: its gateway may have ended before its message left. */
  readonly isTakenUp: boolean;
  /** Landing that is being read, and since when; null where none is. */
  beingRead: { readonly landing: Landing; readonly sinceMs: number } | null;
  contradicted: boolean;
  /** What was known of it when it was looked at last. */
  evidence: Evidence | null;
}

/** By the states that orders are in: how many, and how long the oldest has been in it, milliseconds. */
export type OpenByState = ReadonlyMap<OrderState, { readonly orders: number; readonly oldestMs: number }>;

/** The orders that are followed, by their ids and by their messages. */
export class FollowedOrders {
  readonly #nodes: number;
  readonly #clock: Clock;
  readonly #byId = new PassingMap<string, Followed>();
  /** Those that have a message. Several owners may each have an order of the same transaction: anybody may hand in what is in the chain. */
  readonly #bySignature = new PassingMap<string, Set<Followed>>();
  readonly #withMessage = new PassingMap<string, Followed>();

  /** `nodes`: how many are asked. */
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

  /** Those that have a message. */
  get withMessage(): Pick<PassingMap<string, Followed>, 'size' | 'values'> {
    return this.#withMessage;
  }

  [Symbol.iterator](): Iterator<Followed> {
    return this.#byId.values();
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Whether it is this very one that is followed still. */
  holds(followed: Followed): boolean {
    return this.#byId.get(followed.order.id) === followed;
  }

  ofSignature(signature: string): Iterable<Followed> {
    return this.#bySignature.get(signature) ?? [];
  }

  /** One that is open and not followed yet. */
  add(order: OpenOrder, isTakenUp = false): Followed {
    const followed: Followed = {
      order,
      signature: order.signature ?? '',
      lastValidBlockHeight: order.lastValidBlockHeight,
      sinceMs: this.#clock.steadyMs(),
      views: Array.from({ length: this.#nodes }, () => null),
      hintedAtMs: -Infinity,
      reading: null,
      sending: false,
      isTakenUp,
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

  /** Whether it was the last with its message. */
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
