import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import { endStates, type PublishedOrder, type StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { reasonOf } from '@sluice/gateway/store/store-unavailable.ts';
import { seenOrder } from './attempts.ts';
import type { SeenOrder, TriggerEvent } from '../life/life.ts';
import type { LiveTrigger, OpenTriggers } from '../life/open-triggers.ts';

/** Orders that one look reads. */
const maxLooked = 32;
/** If the fill of a finalized order is not read within this time, its quote is taken for it. */
const fillWithinMs = 15_000;

type ChangedOrder = Pick<PublishedOrder, 'id' | 'state' | 'fill' | 'error'>;

export interface OrdersOfTriggersOptions {
  readonly orders: Pick<OrderTable, 'byId'>;
  readonly open: OpenTriggers;
  readonly note: (live: LiveTrigger, event: TriggerEvent) => void;
  /** An order that a trigger waits for has filled. */
  readonly onFilled: () => void;
  readonly nowMs: () => number;
  readonly log: Pick<Logger, 'warn'>;
}

/** Follows the orders that triggers placed, and those whose fill they wait for: by their changes, and in the store if one was missed. */
export class OrdersOfTriggers {
  /** Armed triggers whose order has filled, and that did not begin to fire yet. */
  readonly filled = new Set<LiveTrigger>();
  readonly #options: OrdersOfTriggersOptions;
  readonly #byOrder = new Map<string, LiveTrigger>();
  /** By the trigger: its newest order. */
  readonly #followed = new Map<LiveTrigger, string>();
  readonly #awaiting = new Map<string, Set<LiveTrigger>>();
  /** Those whose order could not be read when they were armed. */
  readonly #unread = new Set<LiveTrigger>();

  constructor(options: OrdersOfTriggersOptions) {
    this.#options = options;
  }

  /** The trigger has placed this order, which is in this state now. */
  follow(live: LiveTrigger, order: SeenOrder): void {
    const before = this.#followed.get(live);
    if (before !== undefined) this.#byOrder.delete(before);
    this.#followed.set(live, order.id);
    this.#byOrder.set(order.id, live);
    this.#options.note(live, { kind: 'order', order });
  }

  /** The trigger fires when this order fills, also if it has filled already. */
  await(live: LiveTrigger, orderId: string): void {
    const awaiting = this.#awaiting.get(orderId);
    if (awaiting === undefined) this.#awaiting.set(orderId, new Set([live]));
    else awaiting.add(live);
    void this.#readAwaited(live, orderId);
  }

  /** An order was stored or has changed. */
  note(order: ChangedOrder): void {
    const live = this.#byOrder.get(order.id);
    if (live !== undefined) this.#options.note(live, { kind: 'order', order: seenOrder(order) });
    for (const waiting of this.#awaiting.get(order.id) ?? []) this.#noteAwaited(waiting, order);
  }

  /** Its order does not decide about it any more: it waits for its condition again, or its next attempt begins. */
  leave(live: LiveTrigger): void {
    const orderId = this.#followed.get(live);
    if (orderId !== undefined) this.#byOrder.delete(orderId);
    this.#followed.delete(live);
  }

  /** The trigger has ended. */
  forget(live: LiveTrigger): void {
    this.leave(live);
    this.#unread.delete(live);
    this.filled.delete(live);
    const { when } = live.trigger.terms;
    if (when.kind !== 'filled') return;
    const awaiting = this.#awaiting.get(when.orderId);
    awaiting?.delete(live);
    if (awaiting?.size === 0) this.#awaiting.delete(when.orderId);
  }

  /** Reads some orders whose changes may have been missed, in turns. `isBusy`: another attempt of the trigger is planned or in progress. */
  look(isBusy: (live: LiveTrigger) => boolean): void {
    for (const live of [...this.#unread].slice(0, maxLooked)) {
      const { when } = live.trigger.terms;
      this.#unread.delete(live);
      if (when.kind === 'filled') void this.#readAwaited(live, when.orderId);
    }
    for (const [live, orderId] of [...this.#followed].slice(0, maxLooked)) {
      this.#followed.delete(live);
      if (live.trigger.state !== 'firing') continue;
      this.#followed.set(live, orderId);
      if (!isBusy(live)) void this.#readFollowed(live, orderId);
    }
  }

  async #readFollowed(live: LiveTrigger, orderId: string): Promise<void> {
    const order = await this.#read(orderId);
    if (order === null || this.#byOrder.get(orderId) !== live) return;
    const { id, state, error } = order;
    this.#options.note(live, { kind: 'order', order: { id, state, error, fill: order.fill ?? this.#quotedFill(order) } });
  }

  async #readAwaited(live: LiveTrigger, orderId: string): Promise<void> {
    const order = await this.#read(orderId);
    if (order === null) this.#unread.add(live);
    else this.#noteAwaited(live, order);
  }

  #noteAwaited(live: LiveTrigger, { state, error }: Pick<ChangedOrder, 'state' | 'error'>): void {
    if (live.trigger.state !== 'armed') return;
    if (state === 'confirmed' || state === 'finalized') {
      this.filled.add(live);
      this.#options.onFilled();
    } else if (endStates.has(state)) {
      const none = { code: 'TRANSACTION_EXPIRED', message: 'The order that the trigger waits for has not filled.', detailsJson: '{}' };
      this.#options.note(live, { kind: 'refused', error: error ?? none, refusal: 'final' });
    }
  }

  async #read(orderId: string): Promise<StoredOrder | null> {
    try {
      return await this.#options.orders.byId(orderId);
    } catch (error) {
      this.#options.log.warn({ reason: reasonOf(error) }, 'trigger_order_unread');
      return null;
    }
  }

  /** What children sell is bounded by the balance, so a quote is good enough. */
  #quotedFill({ state, terms, updatedAtMs, quoteJson }: StoredOrder): SeenOrder['fill'] {
    if (state !== 'finalized' || quoteJson === null || this.#options.nowMs() - updatedAtMs < fillWithinMs) return null;
    const { inAmount, outAmount } = JSON.parse(quoteJson) as QuoteObject;
    return { baseAmount: BigInt(terms?.side === 'sell' ? inAmount : outAmount) };
  }
}
