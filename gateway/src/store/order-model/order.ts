import type { VenueName } from '@sluice/shared/wire/events/events.ts';
import { orderKinds, type OrderKind } from '@sluice/shared/wire/orders/orders.ts';

export { orderKinds, type OrderKind };

/** States that an order is stored in. A dry run is reported as `simulated`, and stored nowhere. */
export const storedStates = ['submitted', 'processed', 'confirmed', 'finalized', 'failed', 'expired', 'unknown'] as const;
export type OrderState = (typeof storedStates)[number];

/** States that an order never leaves. */
export const endStates: ReadonlySet<OrderState> = new Set(['finalized', 'failed', 'expired']);

/** The parts of the request that an order retains to its end. */
export interface OrderTerms {
  readonly side: 'buy' | 'sell';
  readonly mint: string;
  readonly pool: VenueName;
  readonly poolAddress: string;
  readonly quoteMint: string;
  readonly baseDecimals: number;
  readonly quoteDecimals: number;
  /** The wallet that signs and pays. */
  readonly publicKey: string;
  /** No node and no Sender may get its transaction from us. */
  readonly blockEngineOnly?: true;
  /** The bundle that its transaction is part of: it is sent with the others, and never alone. */
  readonly bundle?: BundlePlace;
}

/** The place of an order in a bundle. `id`: that of the block engine, the SHA-256 of the signatures; on paper, of the ids of the orders. */
export interface BundlePlace {
  readonly id: string;
  readonly index: number;
  readonly count: number;
}

/** What a landed transaction did, read from the transaction itself. Amounts are raw units. */
export interface OrderFill {
  readonly pool: VenueName;
  readonly baseAmount: bigint;
  /** The pool's side of the trade, without fees. */
  readonly quoteAmount: bigint;
  /** What the wallet paid (buy) or received (sell), including all fees of the venue. */
  readonly traderQuote: bigint;
  readonly venueFees: bigint;
  /** Base fee and priority fee, in lamports. */
  readonly networkFee: bigint;
  /** Everything else that the wallet paid, wrapped SOL included: rent of created accounts minus rent of closed ones, and tips, in lamports. May be negative. */
  readonly otherLamports: bigint;
  readonly slot: number;
  /** Unix seconds; null if unknown. */
  readonly blockTime: number | null;
}

/** The message of an order, signed. An order has exactly one. */
export interface SignedMessage {
  readonly signature: string;
  readonly signedBytes: Uint8Array;
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
}

/** The fields of an order that its events are made from. An event is published at each change. */
export interface PublishedOrder {
  readonly id: string;
  readonly kind: OrderKind;
  readonly keyId: string;
  readonly state: OrderState;
  readonly terms: OrderTerms | null;
  readonly signature: string | null;
  readonly lastValidBlockHeight: number | null;
  readonly fill: OrderFill | null;
  /** Why it failed: a code of the error table, with details as JSON. Null if it did not fail. */
  readonly error: { readonly code: string; readonly message: string; readonly detailsJson: string } | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Grows by 1 with each change. A writer that read an older version changes nothing. */
  readonly version: number;
}

/** What is needed to follow an order to its end. Only `signedBytes` may land for it: once, and no later than `lastValidBlockHeight`. */
export interface OpenOrder extends PublishedOrder {
  readonly signedBytes: Uint8Array | null;
}

export interface StoredOrder extends OpenOrder {
  readonly accountId: string | null;
  /** `getGenesisHash` of the chain that it was made on; null if that was not known when it was stored. */
  readonly genesisHash: string | null;
  /** The `quote` object of the answer, as JSON; null if nothing was quoted (`sent`). */
  readonly quoteJson: string | null;
  readonly blockhash: string | null;
  /** Milliseconds of each step, as the server measured them, as JSON. */
  readonly timingJson: string | null;
}

/** An order that is not stored yet. The store gives it a version. */
export type NewOrder = Omit<StoredOrder, 'version' | 'updatedAtMs'>;

/** New values for the fields of an order that can change. Omitted fields stay as they are. The message of an order never changes. */
export interface OrderChange {
  readonly state?: OrderState;
  readonly fill?: OrderFill;
  /** Of an order whose transaction was sent before its terms were known. */
  readonly terms?: OrderTerms;
  readonly error?: NonNullable<StoredOrder['error']>;
}

/** Copies only the fields of `PublishedOrder`, so that an open order stays small in memory. */
export function publishedFields(order: PublishedOrder): PublishedOrder {
  const { id, kind, keyId, state, terms, signature, lastValidBlockHeight, fill, error, createdAtMs, updatedAtMs, version } = order;
  return { id, kind, keyId, state, terms, signature, lastValidBlockHeight, fill, error, createdAtMs, updatedAtMs, version };
}

/** The key that places an order, and its account; null for a key of the operator. */
export interface Owner {
  readonly keyId: string;
  readonly accountId: string | null;
}

/** Orders belong to the account; those of a key of the operator belong to the key. */
export function ownerOf({ accountId, keyId }: Owner): string {
  return accountId === null ? `key:${keyId}` : `account:${accountId}`;
}

/** One use of an `Idempotency-Key`. An owner may use a key for a single request, with one endpoint and one body. */
export interface IdempotencyUse {
  /** `id` of the endpoint. */
  readonly endpoint: string;
  readonly key: string;
  /** SHA-256 of the canonical body. It must not change from one version to the next: a repeated key would be refused in place of its order. */
  readonly fingerprint: Uint8Array;
  /** Of an order that is one of several in a request: the key of the whole request. `key` then belongs to the order, and no client can send it. */
  readonly requestKey?: string;
  /** Of an order that a trigger places: the term (`store.triggers`) in which it may be stored. */
  readonly triggerTerm?: number;
}

/** The use of the order at this place in a request for several. A client's key has no spaces. */
export function keyOfOrder(whole: IdempotencyUse, index: number): IdempotencyUse {
  return { ...whole, key: `${whole.key} ${index}`, requestKey: whole.key };
}

type SameRequest = Pick<IdempotencyUse, 'endpoint' | 'fingerprint'>;

/** Whether a key was used twice for one request. */
export function isSameRequest(a: SameRequest, b: SameRequest): boolean {
  return a.endpoint === b.endpoint && Buffer.compare(a.fingerprint, b.fingerprint) === 0;
}
