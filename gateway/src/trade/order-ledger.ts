import type { Logger } from '@sluice/shared/log/log.ts';
import type { AdvanceOutcome, InsertOutcome, NewOrder, OrderChange, OrderInsert, OrderTable } from '../store/order-table.ts';
import { judge, type Evidence } from './life.ts';
import type { OrderPublisher } from './order-publisher.ts';
import type { StoredOrder } from './order.ts';

/** Times that a change is judged anew because somebody else changed the order meanwhile; each of them took a step that ends. */
const maxAttempts = 16;

export interface OrderLedgerOptions {
  readonly orders: Pick<OrderTable, 'insert' | 'advanceAll'>;
  readonly publisher: Pick<OrderPublisher, 'tell'>;
  readonly log: Logger;
}

export interface OrderLedgerCounts {
  changes: number;
  /** Changes for which the order had changed since it was read. */
  stale: number;
  /** Evidence that cannot be true beside what is stored; told in the log. */
  contradictions: number;
}

export interface Finding {
  readonly order: StoredOrder;
  readonly evidence: Evidence;
}

/**
 * What a request makes and finds out of an order: judged, stored and then told on the channel `orders`. What the chain tells, the
 * follower judges and stores, many at once. Methods reject as the table does.
 */
export interface OrderLedger {
  readonly counts: Readonly<OrderLedgerCounts>;
  /** Stores a new order; see `OrderTable.insert`. */
  insert(order: NewOrder, with_: OrderInsert): Promise<InsertOutcome>;
  /** What an order became by what was found out: as it is stored now, changed or not. `timingJson` goes with a change of state. */
  apply(order: StoredOrder, evidence: Evidence, more?: Pick<OrderChange, 'timingJson'>): Promise<StoredOrder>;
  /** The same for several different orders, at the cost of about one; answers in their order. */
  applyAll(findings: readonly Finding[]): Promise<readonly StoredOrder[]>;
}

export function createOrderLedger({ orders, publisher, log }: OrderLedgerOptions): OrderLedger {
  const counts: OrderLedgerCounts = { changes: 0, stale: 0, contradictions: 0 };
  const changeOf = ({ order, evidence }: Finding): OrderChange | null => {
    const verdict = judge(order, evidence);
    if (verdict.kind !== 'contradiction') return verdict.kind === 'change' ? verdict.change : null;
    counts.contradictions++;
    log.error({ orderId: order.id, state: order.state, evidence: evidence.kind }, 'order_contradicted');
    return null;
  };
  const settle = (finding: Finding, outcome: AdvanceOutcome): StoredOrder | 'again' => {
    if (outcome.kind === 'no_such_order') throw new Error(`order ${finding.order.id} is not in the store`);
    if (outcome.kind === 'advanced') {
      counts.changes++;
      publisher.tell(outcome.order);
      return outcome.order;
    }
    counts.stale++;
    return 'again';
  };
  const applyAll = async (findings: readonly Finding[], more: Pick<OrderChange, 'timingJson'> = {}): Promise<readonly StoredOrder[]> => {
    const results = findings.map(({ order }) => order);
    let open = findings.map((finding, index) => ({ finding, index }));
    for (let attempt = 0; open.length > 0; attempt++) {
      if (attempt === maxAttempts) throw new Error(`${open.length} orders changed ${maxAttempts} times while they were to be changed`);
      const steps = open.flatMap(({ finding, index }) => {
        const change = changeOf(finding);
        return change === null ? [] : [{ finding, index, change: { ...change, ...more } }];
      });
      const outcomes = await orders.advanceAll(
        steps.map(({ finding: { order }, change }) => ({ id: order.id, fromVersion: order.version, change, atMs: Date.now() })),
      );
      open = steps.flatMap(({ finding, index }, i) => {
        const outcome = outcomes[i]!;
        const settled = settle(finding, outcome);
        results[index] = 'order' in outcome ? outcome.order : results[index]!;
        return settled === 'again' ? [{ finding: { ...finding, order: results[index] }, index }] : [];
      });
    }
    return results;
  };
  return {
    counts,
    insert: async (order, with_) => {
      const outcome = await orders.insert(order, with_);
      if (outcome.kind === 'stored') publisher.tell(outcome.order);
      return outcome;
    },
    apply: async (order, evidence, more) => (await applyAll([{ order, evidence }], more))[0]!,
    applyAll: (findings) => applyAll(findings),
  };
}
