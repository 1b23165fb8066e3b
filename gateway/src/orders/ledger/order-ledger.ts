import type { Logger } from '@sluice/shared/log/log.ts';
import type { InsertOutcome, OrderInsert, OrderTable } from '../../store/order-table.ts';
import type { NewOrder } from '../model/order.ts';
import { judge, type Evidence } from '../model/life.ts';
import type { OrderPublisher } from './order-publisher.ts';
import type { OpenOrder } from '../model/order.ts';

/** Times that a change is judged anew because somebody else changed the order meanwhile; each of them took a step that ends. */
const maxAttempts = 16;

export interface OrderLedgerOptions {
  readonly orders: Pick<OrderTable, 'insert' | 'advanceAll'>;
  readonly publisher: Pick<OrderPublisher, 'tell'>;
  readonly log: Pick<Logger, 'error'>;
}

/**
 * What a request makes and finds out of an order: stored and then told on the channel `orders`. What the chain tells, the follower
 * judges and stores, many at once. Methods reject as the table does.
 */
export interface OrderLedger {
  /** Stores a new order; see `OrderTable.insert`. */
  insert(order: NewOrder, with_: OrderInsert): Promise<InsertOutcome>;
  /** What an order became by what was found out: as it is stored now, changed or not. */
  apply(order: OpenOrder, evidence: Evidence): Promise<OpenOrder>;
}

export function createOrderLedger({ orders, publisher, log }: OrderLedgerOptions): OrderLedger {
  return {
    insert: async (order, with_) => {
      const outcome = await orders.insert(order, with_);
      if (outcome.kind === 'stored') publisher.tell(outcome.order);
      return outcome;
    },
    apply: async (order, evidence) => {
      const { id } = order;
      let now = order;
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const verdict = judge(now, evidence);
        if (verdict.kind === 'contradiction') log.error({ orderId: id, state: now.state, evidence: evidence.kind }, 'order_contradicted');
        if (verdict.kind !== 'change') return now;
        const outcomes = await orders.advanceAll([{ order: now, change: verdict.change, atMs: Date.now() }]);
        const outcome = outcomes[0]!;
        if (outcome.kind === 'no_such_order') throw new Error(`order ${id} is not in the store`);
        now = outcome.order;
        if (outcome.kind === 'stale') continue;
        publisher.tell(now);
        return now;
      }
      throw new Error(`order ${id} changed ${maxAttempts} times while it was to be changed`);
    },
  };
}
