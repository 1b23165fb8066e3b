import type { IdempotencyUse, Owner } from '@sluice/gateway/store/order-model/order.ts';
import type { StoredTrigger, TriggerTerms } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { Placed, Refusal } from '../../place/outcome.ts';

/** A trigger of a request, with those that wait for it. */
export interface RequestedTrigger {
  readonly terms: Omit<TriggerTerms, 'childIds'>;
  /** In the order of the request. Their `mint` is that of the parent: null if the followed account decides it. */
  readonly children: readonly RequestedTrigger[];
}

export interface ArmRequest {
  readonly trigger: RequestedTrigger;
  readonly use: IdempotencyUse | null;
  /** Maximum number of triggers of the owner that have not ended, these included. */
  readonly maxArmed: number;
}

/** What to cancel: one, or all of the owner that match every given filter. */
export type CancelRequest = { readonly id: string } | { readonly keyId?: string; readonly mint?: string; readonly publicKey?: string };

/** What the role holder does for clients. Rejects with a `StoreUnavailableError` if the store does not answer. */
export interface TriggerDesk {
  /** Stores and watches a trigger. Resolves with the one at the top. */
  arm(owner: Owner, request: ArmRequest): Promise<Placed<StoredTrigger> | Refusal>;
  /**
   * Cancels triggers of the owner. Resolves with those that changed: `cancelled`, or `firing` with `cancelAsked`. A trigger of another owner is not
   * found, and an ended one does not change.
   */
  cancel(owner: Owner, which: CancelRequest): Promise<readonly StoredTrigger[] | Refusal>;
}
