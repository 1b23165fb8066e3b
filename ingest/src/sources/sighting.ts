import type { Decoding } from './decode/transaction-decoder.ts';
import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { Commitment } from '@sluice/shared/wire/events/events.ts';

interface SightingOrigin {
  /** Name of the source. */
  readonly source: string;
  /** Its number among the endpoints of all sources; absent if the source does not name it. */
  readonly endpoint?: number;
  readonly signature: string;
  readonly slot: number;
  readonly commitment: Commitment;
  readonly receivedUs: number;
}

/** The log lines of a successful transaction. Text that no venue reads may be left out. */
export interface LogsSighting extends SightingOrigin {
  readonly kind: 'logs';
  readonly logs: readonly string[];
}

/** A whole transaction: message, loaded addresses, inner instructions, logs, token balances and error. */
export interface WholeSighting extends SightingOrigin {
  readonly kind: 'whole';
  /** What a thread has decoded of it, or the transaction itself. */
  readonly transaction: TransactionView | Decoding;
  /** Read from the history of the chain to fill a gap, after newer transactions were published. */
  readonly late: boolean;
}

/** What a source has seen of one transaction. */
export type Sighting = LogsSighting | WholeSighting;

/** State of an account at the end of a slot. */
export interface AccountState {
  readonly address: string;
  readonly owner: string;
  readonly data: Uint8Array;
  readonly slot: number;
  readonly receivedUs: number;
}
