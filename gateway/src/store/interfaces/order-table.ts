import type { IdempotencyUse } from '../order-model/idempotency.ts';
import type { OrderState as PublicOrderState } from '@sluice/shared/wire/orders/orders.ts';
import type { PaperMovement, PaperRefusal } from './paper-table.ts';
import type { NewOrder, OpenOrder, OrderChange, OrderState, StoredOrder } from '../order-model/order.ts';

/** Maximum amount that an order can take from the wallet. It counts towards the wallet's day (UTC, by `createdAtMs`). */
export interface SpendReservation {
  readonly wallet: string;
  readonly lamports: bigint;
  /** The limit for all reservations of the day together, including this one. Null: no limit. */
  readonly dayLimitLamports: bigint | null;
}

export interface OrderInsert {
  readonly idempotency: IdempotencyUse | null;
  readonly spend: SpendReservation | null;
  /** For an order on paper: how it changes the balance of its wallet. */
  readonly paper?: PaperMovement;
  /** The gateway that follows the order to its end. */
  readonly followedBy: string;
}

/**
 * What is known about an `Idempotency-Key`. `fresh`: unused. `replay`: it has an order. `mismatch`: it was used with a different request.
 */
export type IdempotencyOutcome =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'replay'; readonly order: StoredOrder }
  | { readonly kind: 'mismatch' };

/**
 * All outcomes but `stored` stored nothing. `known`: the owner already has an order with this signature; for an order of kind
 * `lightning`, any owner's order of that kind counts. `over_day_limit`: the reservation would exceed the wallet's day limit.
 */
export type InsertOutcome =
  | { readonly kind: 'stored'; readonly order: StoredOrder }
  | Exclude<IdempotencyOutcome, { kind: 'fresh' }>
  | { readonly kind: 'known'; readonly order: StoredOrder }
  | PaperRefusal
  | { readonly kind: 'over_day_limit'; readonly spentLamports: bigint; readonly limitLamports: bigint };

export interface Advance {
  /** The stored order that the change was computed from. Values that do not change are taken from it without reading them again. */
  readonly order: OpenOrder;
  readonly change: OrderChange;
  readonly atMs: number;
}

/** `stale`: the stored order was changed meanwhile; `order` is the current one. */
export type AdvanceOutcome = { readonly kind: 'advanced' | 'stale'; readonly order: OpenOrder } | { readonly kind: 'no_such_order' };

/** One change of an order. Events are never modified. */
export interface StoredOrderEvent {
  readonly version: number;
  readonly state: OrderState;
  readonly atMs: number;
  /** What was set in addition to the state: `signed`, `fill`, `error`, `timing`. */
  readonly changed: readonly string[];
}

export interface OrderPage {
  readonly owner: string;
  /** Id of an order: the page holds only older ones. Null: from the newest. */
  readonly before: string | null;
  readonly state: PublicOrderState | null;
  readonly limit: number;
}

/** A gateway and the chain of its nodes. It follows orders of that chain only. */
export interface FollowingGateway {
  readonly gatewayId: string;
  readonly genesisHash: string;
}

export interface FollowClaim extends FollowingGateway {
  readonly nowMs: number;
  /** Until this time no other gateway takes over its orders. */
  readonly untilMs: number;
  /** Maximum number of orders to claim. */
  readonly limit: number;
  /** The claims of all other gateways are treated as expired. */
  readonly fromAll?: boolean;
}

/** The stored orders. Each change is atomic, and durable (even after a power failure) once its call has resolved. */
export interface OrderTable {
  /** Reads what is known about an `Idempotency-Key`. Stores nothing. A key is used until it is deleted. No clock decides. */
  lookUp(owner: string, use: IdempotencyUse): Promise<IdempotencyOutcome>;
  /**
   * Stores an order, its `Idempotency-Key`, its reservation and its change of a paper balance in one transaction. Of several inserts with the same key, by all
   * gateways together, one succeeds. Throws RangeError if no order of this kind may begin in this state.
   */
  insert(order: NewOrder, with_: OrderInsert): Promise<InsertOutcome>;
  /**
   * Changes each of these orders that still has the given version, in one transaction; if it throws, none is changed. If an order ends
   * without a trade (`expired` or `failed`), its reservation is released; the fee of a failed one is still counted by the signing
   * process. At most `maxAdvances`. Throws RangeError for a change of state that `mayBecome` does not allow.
   */
  advanceAll(advances: readonly Advance[]): Promise<readonly AdvanceOutcome[]>;
  byId(id: string): Promise<StoredOrder | null>;
  /** Oldest first; at most one per owner. */
  bySignature(signature: string): Promise<readonly StoredOrder[]>;
  /** Newest first. */
  page(page: OrderPage): Promise<readonly StoredOrder[]>;
  /** Every change of an order, oldest first. */
  events(id: string): Promise<readonly StoredOrderEvent[]>;
  /** Open orders that the gateway follows, in order of id, after the id `after` (null: from the first). */
  openOf(gateway: FollowingGateway, after: string | null, limit: number): Promise<readonly StoredOrder[]>;
  /** As `openOf`, without reading whole orders. */
  openIdsOf(gateway: FollowingGateway, after: string | null, limit: number): Promise<readonly Pick<StoredOrder, 'id' | 'createdAtMs'>[]>;
  /** Open orders whose chain is another one or unknown, and that no other gateway follows, in order of id, after the id `after`. */
  openElsewhere(gateway: FollowingGateway, after: string | null, limit: number): Promise<readonly StoredOrder[]>;
  /**
   * Extends the claim of a gateway on its orders, and takes over open orders of its chain from gateways whose claims have expired,
   * oldest first; returns those. It compares times of several machines: if a clock is wrong by more than the length of a claim, two
   * gateways follow one order. That is wasted work but no harm, because both send the same message. Deletes what is past its
   * retention time, by the hours in which the store was in use.
   */
  claim(claim: FollowClaim): Promise<readonly StoredOrder[]>;
  /** Ends the gateway's claim, so that others can take over its orders at once. */
  release(gatewayId: string): Promise<void>;
  /** Writes and replaces a value that nobody reads and that is larger than an order. If it resolves, the store has space for an order. */
  probe(): Promise<void>;
  /** The sum of a wallet's reservations on the day (UTC) that contains `atMs`, and on later days: those came from a wrong clock. */
  spentLamports(wallet: string, atMs: number): Promise<bigint>;
}

/** How long an `Idempotency-Key` is stored, in hours in which the store is in use; longer if its order is still open. */
export const idempotencyRetentionMs = 24 * 3_600_000;
/** How long an order is stored after it ended, in hours in which the store is in use. */
export const orderRetentionMs = 400 * 24 * 3_600_000;
/** Maximum number of orders, and of keys, that one `claim` deletes. */
export const maxForgotten = 1_000;
/** Maximum number of changes of one `advanceAll`. */
export const maxAdvances = 1_000;
/** Maximum number of rows that one call reads, even if its `limit` is higher. */
export const maxOrderRows = 1_000;
