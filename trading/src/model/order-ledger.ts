import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type {
  InsertAllOutcome,
  InsertOutcome,
  OrderInsert,
  OrderTable,
  OrderToInsert,
} from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { judge, type Evidence } from '@sluice/gateway/store/order-model/life.ts';
import type { OrderPublisher } from './order-publisher.ts';
import type { NewOrder, OpenOrder } from '@sluice/gateway/store/order-model/order.ts';

/** Attempts for one change. An attempt fails if another writer changed the order meanwhile, and an order has only a few states. */
const maxAttempts = 16;

export interface OrderLedgerOptions {
  readonly orders: Pick<OrderTable, 'insert' | 'insertAll' | 'advanceAll'>;
  readonly publisher: Pick<OrderPublisher, 'publish'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Pick<Logger, 'error'>;
}

export type OrderLedger = ReturnType<typeof createOrderLedger>;

/** Stores the order changes of a request, and then publishes them. The follower stores those of the chain. Methods reject like the table. */
export function createOrderLedger({ orders, publisher, clock, log }: OrderLedgerOptions) {
  return {
    /** Stores a new order; see `OrderTable.insert`. */
    insert: async (order: NewOrder, with_: OrderInsert): Promise<InsertOutcome> => {
      const outcome = await orders.insert(order, with_);
      if (outcome.kind === 'stored') publisher.publish(outcome.order);
      return outcome;
    },
    /** Stores all of these orders, or none; see `OrderTable.insertAll`. */
    insertAll: async (all: readonly OrderToInsert[]): Promise<InsertAllOutcome> => {
      const outcome = await orders.insertAll(all);
      if (outcome.kind === 'stored') for (const order of outcome.orders) publisher.publish(order);
      return outcome;
    },
    /** Applies evidence to an order. Returns the order as it is stored now, changed or not. */
    apply: async (order: OpenOrder, evidence: Evidence): Promise<OpenOrder> => {
      const { id } = order;
      let now = order;
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const verdict = judge(now, evidence);
        if (verdict.kind === 'contradiction') log.error({ orderId: id, state: now.state, evidence: evidence.kind }, 'order_contradicted');
        if (verdict.kind !== 'change') return now;
        const outcomes = await orders.advanceAll([{ order: now, change: verdict.change, atMs: clock.wallMs() }]);
        const outcome = outcomes[0]!;
        if (outcome.kind === 'no_such_order') throw new Error(`order ${id} is not in the store`);
        now = outcome.order;
        if (outcome.kind === 'stale') continue;
        publisher.publish(now);
        return now;
      }
      throw new Error(`order ${id} was changed by other writers in all ${maxAttempts} attempts`);
    },
  };
}
