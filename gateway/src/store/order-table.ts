import type { IdempotencyUse } from '../orders/model/idempotency.ts';
import type { NewOrder, OpenOrder, OrderChange, OrderState, StoredOrder } from '../orders/model/order.ts';

/** What may leave the wallet by an order, counted against the wallet's day (UTC, by `createdAtMs`). */
export interface SpendReservation {
  readonly wallet: string;
  readonly lamports: bigint;
  /** All reservations of the day together, this one too; null: without a limit. */
  readonly dayLimitLamports: bigint | null;
}

export interface OrderInsert {
  readonly idempotency: IdempotencyUse | null;
  readonly spend: SpendReservation | null;
  /** The gateway that follows it to its end. */
  readonly followedBy: string;
}

/** What an `Idempotency-Key` stands for. `in_progress`: its order has not been sent yet, nor refused. */
export type IdempotencyOutcome =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'replay' | 'in_progress'; readonly order: StoredOrder }
  | { readonly kind: 'mismatch' };

/**
 * `stored`: it was. Everything else stored nothing. `known`: the same owner's order with this very signature is there already, or, of
 * an order of kind `lightning`, anybody's of that kind.
 * `over_day_limit`: the wallet's day has no room for it.
 */
export type InsertOutcome =
  | { readonly kind: 'stored'; readonly order: StoredOrder }
  | Exclude<IdempotencyOutcome, { kind: 'fresh' }>
  | { readonly kind: 'known'; readonly order: StoredOrder }
  | { readonly kind: 'over_day_limit'; readonly spentLamports: bigint; readonly limitLamports: bigint };

export interface Advance {
  /** As it was stored when the change was made for it: what does not change is believed without a look. */
  readonly order: OpenOrder;
  readonly change: OrderChange;
  readonly atMs: number;
}

/** `stale`: the order has changed since; as it is now. */
export type AdvanceOutcome = { readonly kind: 'advanced' | 'stale'; readonly order: OpenOrder } | { readonly kind: 'no_such_order' };

/** One change of an order; never changed itself. */
export interface StoredOrderEvent {
  readonly version: number;
  readonly state: OrderState;
  readonly atMs: number;
  /** What else it brought, by name: `signed`, `fill`, `error`, `timing`. */
  readonly changed: readonly string[];
}

export interface OrderPage {
  readonly owner: string;
  /** Id of an order: only older ones. Null: from the newest. */
  readonly before: string | null;
  readonly state: OrderState | null;
  readonly limit: number;
}

/** A gateway, and the chain that its nodes are of: it follows no orders of another. */
export interface FollowingGateway {
  readonly gatewayId: string;
  readonly genesisHash: string;
}

export interface FollowClaim extends FollowingGateway {
  readonly nowMs: number;
  /** Until then nobody takes from it what it follows. */
  readonly untilMs: number;
  /** Orders taken over at most. */
  readonly limit: number;
}

/** Orders as stored: each change is there wholly or not at all, and outlives the machine's power once a call has resolved. */
export interface OrderTable {
  /** What an `Idempotency-Key` stands for at this moment; stores nothing. */
  lookUp(owner: string, use: IdempotencyUse, nowMs: number): Promise<IdempotencyOutcome>;
  /**
   * Stores an order, its `Idempotency-Key` and what it reserves of the wallet's day, all at once. Of several inserts with one key,
   * over all gateways, one stores. Throws RangeError where the order begins in a state that none begins in.
   */
  insert(order: NewOrder, with_: OrderInsert): Promise<InsertOutcome>;
  /**
   * Changes each of these orders that is still of the version given, at the cost of about one; on a throw none. Gives the wallet's day
   * back what an order reserved that ends without a trade (`expired`, or `failed`, whose fee the signing process alone goes on
   * counting). At most `maxAdvances`. Throws RangeError for a step that `mayFollow` does not allow.
   */
  advanceAll(advances: readonly Advance[]): Promise<readonly AdvanceOutcome[]>;
  byId(id: string): Promise<StoredOrder | null>;
  /** Oldest first: of one owner there is one at most. */
  bySignature(signature: string): Promise<readonly StoredOrder[]>;
  /** Newest first. */
  page(page: OrderPage): Promise<readonly StoredOrder[]>;
  /** Every change of an order, oldest first. */
  events(id: string): Promise<readonly StoredOrderEvent[]>;
  /** Open orders of its chain that a gateway follows, by id, behind `after` (null: from the first). */
  openOf(gateway: FollowingGateway, after: string | null, limit: number): Promise<readonly StoredOrder[]>;
  /** As `openOf`, without reading whole orders. */
  openIdsOf(gateway: FollowingGateway, after: string | null, limit: number): Promise<readonly Pick<StoredOrder, 'id' | 'createdAtMs'>[]>;
  /** Open orders, whoever followed them, of other chains or of one that nobody can tell. */
  countOpenElsewhere(genesisHash: string): Promise<number>;
  /**
   * Holds what the gateway follows for longer, and takes over open orders of its chain from gateways whose hold has run out, oldest first; returns
   * those. Compares times of several machines: a clock that is wrong by more than the hold makes two gateways follow one order,
   * which costs work and no harm, as both have the same message. Forgets what is older than it is kept for.
   */
  claim(claim: FollowClaim): Promise<readonly StoredOrder[]>;
  /** The gateway ends: others may take what it follows at once. */
  release(gatewayId: string): Promise<void>;
  /** Reserved of a wallet's day (UTC) that `atMs` lies in. */
  spentLamports(wallet: string, atMs: number): Promise<bigint>;
}

/** An `Idempotency-Key` is kept for so long, and while its order is open. */
export const keepIdempotencyMs = 24 * 3_600_000;
/** Orders that ended are kept for so long. */
export const keepOrdersMs = 400 * 24 * 3_600_000;
/** Orders, and keys, that one `claim` forgets at most. */
export const maxForgotten = 1_000;
/** Changes of one `advanceAll`. */
export const maxAdvances = 1_000;
/** Rows that one call reads at most, whatever its `limit`. */
export const maxOrderRows = 1_000;
