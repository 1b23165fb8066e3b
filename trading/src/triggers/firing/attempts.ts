import { createHash } from 'node:crypto';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { errorTable } from '@sluice/shared/wire/errors.ts';
import type { ErrorCode } from '@sluice/shared/wire/errors.ts';
import { endOfKeyMs } from '@sluice/gateway/auth/api-keys.ts';
import { ownerOf, type IdempotencyUse, type Owner, type StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import type { Refusal } from '../../place/outcome.ts';
import type { PlaceOrder } from '../../place/place-order.ts';
import { attemptKey, type RefusalKind, type SeenOrder, type TriggerError } from '../life/life.ts';
import { tradeRequestOf } from './trade-request.ts';

/** How long a key that was read is used. */
const keyForMs = 100;
const maxKeys = 1_000;

/** Nothing was stored, and the same order may be placed later. */
const freeCodes: ReadonlySet<ErrorCode> = new Set([
  'TRADING_HALTED',
  'UPSTREAM_UNAVAILABLE',
  'RATE_LIMIT',
  'IDEMPOTENCY_IN_PROGRESS',
  'INTERNAL',
]);
/** What another attempt does not change. */
const finalCodes: ReadonlySet<ErrorCode> = new Set(['UNAUTHENTICATED', 'FORBIDDEN', 'IDEMPOTENCY_MISMATCH']);

/** `unanswered`: the store did not answer, so it is unknown whether there is an order. The same attempt must be repeated. */
export type AttemptOutcome =
  | { readonly kind: 'order'; readonly order: SeenOrder }
  | { readonly kind: 'refused'; readonly error: TriggerError; readonly refusal: RefusalKind; readonly afterSeconds: number }
  | { readonly kind: 'unanswered' };

export interface AttemptParts {
  readonly placeOrder: PlaceOrder;
  readonly venues: readonly Venue[];
  readonly orders: Pick<OrderTable, 'byId' | 'lookUp'>;
  readonly keys: Pick<Store['keys'], 'byId'>;
  readonly nowMs: () => number;
  readonly log: Pick<Logger, 'error'>;
}

/** The use of the key of the current attempt. Its body is the trigger, not the amounts: they follow from the moment at which it is placed. */
function useOf(trigger: StoredTrigger, triggerTerm: number): IdempotencyUse {
  return { endpoint: 'trigger', key: attemptKey(trigger), fingerprint: createHash('sha256').update(trigger.id).digest(), triggerTerm };
}

function ofTrigger({ keyId, accountId }: StoredTrigger): Owner {
  return { keyId, accountId };
}

/** The fields of an order that its trigger needs. */
export function seenOrder({ id, state, fill, error }: Pick<StoredOrder, 'id' | 'state' | 'fill' | 'error'>): SeenOrder {
  return { id, state, fill, error };
}

/** Places the orders of triggers: each attempt at most once, even if an earlier call for it was not answered. */
export class Attempts {
  /** The orders are stored only while this term is the newest one. */
  term = 0;
  readonly #parts: AttemptParts;
  readonly #keys = new Map<string, { readonly readAtMs: number; readonly refusal: Promise<Refusal | null> }>();

  constructor(parts: AttemptParts) {
    this.#parts = parts;
  }

  /** The order of the current attempt, if it is stored. Rejects if the store does not answer. */
  async stored(trigger: StoredTrigger): Promise<SeenOrder | null> {
    const known = await this.#parts.orders.lookUp(ownerOf(trigger), useOf(trigger, this.term));
    return known.kind === 'replay' ? seenOrder(known.order) : null;
  }

  /** Runs the current attempt, after all checks that an order of the same key would have to pass. Never rejects. */
  async run(trigger: StoredTrigger): Promise<AttemptOutcome> {
    try {
      const refusal = await this.#place(trigger).catch((error: unknown) => this.#fault(trigger, error));
      if ('id' in refusal) return { kind: 'order', order: refusal };
      // An earlier call of this attempt may have stored its order without an answer.
      const order = await this.stored(trigger);
      return order === null ? refusedBy(refusal) : { kind: 'order', order };
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) this.#parts.log.error({ err: error, triggerId: trigger.id }, 'trigger_order_unread');
      return { kind: 'unanswered' };
    }
  }

  /** The refusal for an error that is a bug. Rethrows one of the store. */
  #fault({ id }: StoredTrigger, error: unknown): Refusal {
    if (error instanceof StoreUnavailableError) throw error;
    this.#parts.log.error({ err: error, triggerId: id }, 'trigger_attempt_failed');
    return { error: 'INTERNAL' };
  }

  async #place(trigger: StoredTrigger): Promise<SeenOrder | Refusal> {
    const { placeOrder, venues, orders } = this.#parts;
    const refused = await this.#refusalOfKey(trigger.keyId);
    if (refused !== null) return refused;
    const request = tradeRequestOf(trigger, venues);
    if ('error' in request) return request;
    const outcome = await placeOrder(ofTrigger(trigger), request, useOf(trigger, this.term));
    if ('error' in outcome) return outcome;
    const { orderId } = outcome.answer;
    const order = orderId === null ? null : await orders.byId(orderId);
    if (order === null) throw new Error(`the order of ${attemptKey(trigger)} is not in the store`);
    return seenOrder(order);
  }

  /** Orders that are placed at the same moment share one read. */
  #refusalOfKey(keyId: string): Promise<Refusal | null> {
    const nowMs = performance.now();
    const known = this.#keys.get(keyId);
    if (known !== undefined && nowMs - known.readAtMs <= keyForMs) return known.refusal;
    if (this.#keys.size >= maxKeys) this.#keys.clear();
    const refusal = this.#readKey(keyId);
    refusal.catch(() => this.#keys.delete(keyId));
    this.#keys.set(keyId, { readAtMs: nowMs, refusal });
    return refusal;
  }

  async #readKey(keyId: string): Promise<Refusal | null> {
    const { keys, nowMs } = this.#parts;
    const key = await keys.byId(keyId);
    if (key === null || (endOfKeyMs(key) ?? Infinity) <= nowMs())
      return { error: 'UNAUTHENTICATED', message: 'The API key that armed the trigger was revoked or has expired.' };
    if (key.scopes.includes('trade')) return null;
    return { error: 'FORBIDDEN', message: 'The API key that armed the trigger does not have the scope `trade` any more.' };
  }
}

function refusedBy({ error: code, message, details = {}, retryAfterSeconds = 1 }: Refusal): AttemptOutcome {
  return {
    kind: 'refused',
    error: { code, message: message ?? errorTable[code].message, detailsJson: JSON.stringify(details) },
    refusal: freeCodes.has(code) ? 'free' : finalCodes.has(code) ? 'final' : 'spent',
    afterSeconds: retryAfterSeconds,
  };
}
