import type { VenueName } from '@sluice/shared/wire/events.ts';
import { orderKinds, orderStates, type OrderKind, type OrderState } from '@sluice/shared/wire/orders.ts';

export { orderKinds, orderStates, type OrderKind, type OrderState };

/** States that nothing follows. */
export const endStates: ReadonlySet<OrderState> = new Set(['finalized', 'failed', 'expired']);

/** What the caller asked for, as far as it follows an order to its end. */
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
}

/** What a landed transaction did, read from the transaction itself. Raw amounts. */
export interface OrderFill {
  readonly pool: VenueName;
  readonly baseAmount: bigint;
  /** Through the pool, fees apart. */
  readonly quoteAmount: bigint;
  /** What the wallet paid (buy) or received (sell), all fees of the venue inside. */
  readonly traderQuote: bigint;
  readonly venueFees: bigint;
  /** Base fee and priority fee, lamports. */
  readonly networkFee: bigint;
  /** Rent of accounts that were made, less that of accounts closed, and tips; lamports, may be negative. */
  readonly otherLamports: bigint;
  readonly slot: number;
  /** Unix seconds; null where not known. */
  readonly blockTime: number | null;
}

/** The one message of an order. */
export interface SignedMessage {
  readonly signature: string;
  readonly signedBytes: Uint8Array;
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
}

/** What is told of an order whenever it changes. */
export interface ToldOrder {
  readonly id: string;
  readonly kind: OrderKind;
  readonly keyId: string;
  readonly state: OrderState;
  readonly terms: OrderTerms | null;
  readonly signature: string | null;
  readonly lastValidBlockHeight: number | null;
  readonly fill: OrderFill | null;
  /** Why it failed: an error code of the table with its details as JSON; null otherwise. */
  readonly error: { readonly code: string; readonly message: string; readonly detailsJson: string } | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Counts up with every change: a writer that saw an older one changes nothing. */
  readonly version: number;
}

/** What it takes to bring an order to its end. Where `signedBytes` stands, exactly this message may land, once, up to `lastValidBlockHeight`. */
export interface OpenOrder extends ToldOrder {
  readonly signedBytes: Uint8Array | null;
}

/** An order as the store has it. */
export interface StoredOrder extends OpenOrder {
  readonly accountId: string | null;
  /** `getGenesisHash` of the chain that it was made on; null where the version that stored it did not ask. */
  readonly genesisHash: string | null;
  /** The answer's `quote` object, as JSON; null where nothing was quoted (`sent`). */
  readonly quoteJson: string | null;
  readonly blockhash: string | null;
  /** Milliseconds by step, as the server measured them, as JSON. */
  readonly timingJson: string | null;
}

/** An order before the store gave it a version. */
export type NewOrder = Omit<StoredOrder, 'version' | 'updatedAtMs'>;

/** The fields of an order that change; fields that are not named stay. The message of an order never changes. */
export interface OrderChange {
  readonly state?: OrderState;
  readonly fill?: OrderFill;
  readonly error?: NonNullable<StoredOrder['error']>;
}

/** No more of an order than is told of it: what is held for as long as it is open. */
export function toldOf(order: ToldOrder): ToldOrder {
  const { id, kind, keyId, state, terms, signature, lastValidBlockHeight, fill, error, createdAtMs, updatedAtMs, version } = order;
  return { id, kind, keyId, state, terms, signature, lastValidBlockHeight, fill, error, createdAtMs, updatedAtMs, version };
}
