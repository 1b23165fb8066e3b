import type { Commitment } from '@sluice/shared/wire/events.ts';

/** A subscription as an endpoint is asked for it. A socket without an answer to a required one is given up. */
export interface Subscription {
  readonly name: string;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly required: boolean;
}

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
}

/** State of an account at the end of a slot. */
export interface AccountState {
  readonly address: string;
  readonly owner: string;
  readonly data: Uint8Array;
  readonly slot: number;
  readonly receivedUs: number;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
