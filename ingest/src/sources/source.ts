import type { Commitment } from '@sluice/shared/wire/events.ts';

/** Logs of one successful transaction, as `logsSubscribe` tells them. */
export interface TransactionLogs {
  readonly signature: string;
  readonly slot: number;
  readonly logs: readonly string[];
  readonly receivedUs: number;
}

/** A whole transaction, as `getTransaction` or a transaction stream tells it; `result` is unchecked. */
export interface WholeTransaction {
  readonly signature: string;
  readonly slot: number;
  readonly result: unknown;
  readonly commitment: Commitment;
  readonly receivedUs: number;
  /** Read to fill a gap, after newer ones were told. */
  readonly late: boolean;
}

/** State of an account at the end of a slot. */
export interface AccountState {
  readonly address: string;
  readonly owner: string;
  readonly data: Uint8Array;
  readonly slot: number;
  readonly receivedUs: number;
}
