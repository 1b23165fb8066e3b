import type { OrderTiming } from '@sluice/shared/wire/rest/trading/trade.ts';
import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { endStates, type OrderState, type StoredOrder } from '@sluice/gateway/store/order-model/order.ts';

/** The steps of an order, in the order in which they happen, and the total. */
export const orderSteps = ['quote', 'build', 'simulate', 'sign', 'store', 'send', 'total'] as const;
export type OrderStep = (typeof orderSteps)[number];
export type EndState = Extract<OrderState, 'finalized' | 'failed' | 'expired'>;

/** Ended orders that are remembered, so that a fill that is read later does not count the order twice. */
const maxRemembered = 10_000;

/** How long the orders of this gateway took, and how they ended. */
export class OrderStats {
  /** Microseconds of each step, for orders that were sent. */
  readonly stepsUs = Object.fromEntries(orderSteps.map((step) => [step, new LatencyHistogram()])) as Readonly<
    Record<OrderStep, LatencyHistogram>
  >;
  readonly ended: Record<EndState, number> = { finalized: 0, failed: 0, expired: 0 };
  stored = 0;
  readonly #remembered = new Set<string>();

  /** Call for each order that was sent. `timing` has no entry for a step that was skipped. */
  executed(timing: OrderTiming): void {
    for (const step of orderSteps) {
      const ms = timing[`${step}Ms`];
      if (ms !== undefined) this.stepsUs[step].record(Math.round(ms * 1_000));
    }
  }

  /** Call for each order that was inserted or changed. */
  changed({ id, state, version }: Pick<StoredOrder, 'id' | 'state' | 'version'>): void {
    if (version === 1) this.stored++;
    if (!endStates.has(state) || this.#remembered.has(id)) return;
    this.ended[state as EndState]++;
    this.#remembered.add(id);
    if (this.#remembered.size <= maxRemembered) return;
    const [oldest] = this.#remembered;
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }
}
