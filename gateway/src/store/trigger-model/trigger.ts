import type { TriggerCondition } from '@sluice/shared/market/trigger-condition.ts';
import { triggerStatuses } from '@sluice/shared/wire/orders/triggers.ts';

export const triggerStates = triggerStatuses;
export type TriggerState = (typeof triggerStates)[number];

/** The fields of a buy or sell, as the request has them; it is quoted only when the trigger fires. */
export interface TriggerOrder {
  readonly side: 'buy' | 'sell';
  readonly publicKey: string;
  /** Null: the mint that the followed account traded. */
  readonly mint: string | null;
  /** SOL of a buy, tokens of a sell, `"50%"`, or `"25% of trade"`. */
  readonly amount: number | string;
  readonly maxAmount?: number;
  readonly slippage?: number;
  readonly priorityFee?: number;
  readonly pool?: string;
  readonly minOut?: string;
  readonly maxIn?: string;
}

/** What a trigger was armed with. It never changes. */
export interface TriggerTerms {
  readonly order: TriggerOrder;
  readonly when: TriggerCondition;
  readonly confirm: 'processed' | 'confirmed';
  readonly minDepthSol: number;
  readonly holdMs: number;
  readonly retries: number;
  readonly retryForMs: number;
  readonly ocoGroup: string | null;
  /** The triggers that wait until the order of this one has filled (`then` of the request). */
  readonly childIds: readonly string[];
  /** Unix ms; null: never. */
  readonly expiresAtMs: number | null;
}

/** The trade of a followed account. */
export interface TriggerCause {
  readonly mint: string;
  readonly eventId: string;
  readonly baseAmount: string;
  readonly quoteAmount: string;
  /** Where the log has it, so that a replay does not count it twice. */
  readonly position?: { readonly epoch: string; readonly offset: number } | null;
}

/** What changes while a trigger lives, and must survive a crash. */
export interface TriggerProgress {
  /** When it was armed, Unix ms; null while it waits for its parent. */
  readonly armedAtMs: number | null;
  /** Firings that were begun. The idempotency key of an order is `trg:<id>:<firing>:<attempt>`. */
  readonly firing: number;
  readonly attempt: number;
  /** Unix ms when the current firing began; null outside of one. */
  readonly firingSinceMs: number | null;
  /** Highest (sell) or lowest (buy) value of the metric since arming, of `trailing`. Stored with the checkpoint. */
  readonly watermark: number | null;
  /** Next time of `every`. */
  readonly nextAtMs: number | null;
  /** What fired it: mint and amount of the followed trade, raw. */
  readonly cause: TriggerCause | null;
  /** Its part of the tokens that the parent's order bought, raw, of a child; an amount in percent means that part. */
  readonly parentAmount: string | null;
}

/** What a trigger has before it fires for the first time. */
export const noProgress: TriggerProgress = {
  armedAtMs: null,
  firing: 0,
  attempt: 0,
  firingSinceMs: null,
  watermark: null,
  nextAtMs: null,
  cause: null,
  parentAmount: null,
};

export interface StoredTrigger {
  readonly id: string;
  readonly keyId: string;
  readonly accountId: string | null;
  readonly genesisHash: string | null;
  /** Paper and live triggers never meet: the role of the other mode does not load them. */
  readonly paper: boolean;
  readonly state: TriggerState;
  readonly terms: TriggerTerms;
  readonly progress: TriggerProgress;
  readonly parentId: string | null;
  /** The newest order; null before the first. */
  readonly orderId: string | null;
  readonly error: { readonly code: string; readonly message: string; readonly detailsJson: string } | null;
  /**
   * Why it has not fired although its condition holds, or why it cannot be evaluated (`gap`, `stale_price`, `shallow_pool`, `hold`,
   * `unconfirmed`, `position_unknown`, `oco_sibling_firing`, …). Null: nothing in the way.
   */
  readonly waitingFor: string | null;
  readonly late: boolean;
  /** Its owner cancelled it while it was firing: no new attempt and no new firing begins. An order that is on its way decides how it ends. */
  readonly cancelAsked: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Grows by 1 with each change. A writer that read an older version changes nothing. */
  readonly version: number;
}

/** A trigger that is not stored yet, `armed` or `waiting`. */
export type NewTrigger = Omit<StoredTrigger, 'version' | 'updatedAtMs' | 'cancelAsked'>;

/** New values for the fields that can change. Omitted fields stay as they are. */
export type TriggerChange = Partial<Pick<StoredTrigger, 'state' | 'progress' | 'orderId' | 'error' | 'waitingFor' | 'late'>>;

const nextStates: Readonly<Record<TriggerState, readonly TriggerState[]>> = {
  waiting: ['armed', 'cancelled', 'expired'],
  armed: ['firing', 'cancelled', 'expired', 'failed'],
  // Back to `armed`: it fires again, or its group may fire in its place.
  firing: ['armed', 'fired', 'cancelled', 'expired', 'failed'],
  fired: [],
  cancelled: [],
  expired: [],
  failed: [],
};

/** The states from which a trigger may come into this one. A change that does not name a state may happen in any. */
export function statesBefore(state: TriggerState): readonly TriggerState[] {
  return triggerStates.filter((before) => before === state || nextStates[before].includes(state));
}

export function isEnded(state: TriggerState): boolean {
  return nextStates[state].length === 0;
}
