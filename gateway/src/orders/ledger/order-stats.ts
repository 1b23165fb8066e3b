import type { OrderTiming } from '@sluice/shared/wire/rest/trade.ts';
import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { endStates, type OrderState, type StoredOrder } from '../model/order.ts';

/** Steps that an order takes, in their order, and all of them together. */
export const orderSteps = ['quote', 'build', 'simulate', 'sign', 'store', 'send', 'total'] as const;
export type OrderStep = (typeof orderSteps)[number];
export type EndState = Extract<OrderState, 'finalized' | 'failed' | 'expired'>;

/** Ended orders that are remembered: a fill that is read later changes an order that was counted. */
const maxRemembered = 10_000;

/** What this gateway's orders took, and what became of them. */
export class OrderStats {
  /** Microseconds by step, of the orders that were sent. */
  readonly stepsUs = Object.fromEntries(orderSteps.map((step) => [step, new LatencyHistogram()])) as Readonly<
    Record<OrderStep, LatencyHistogram>
  >;
  readonly ended: Record<EndState, number> = { finalized: 0, failed: 0, expired: 0 };
  stored = 0;
  readonly #remembered = new Set<string>();

  /** An order was sent. A step that was not taken is not there. */
  executed(timing: OrderTiming): void {
    for (const step of orderSteps) {
      const ms = timing[`${step}Ms`];
      if (ms !== undefined) this.stepsUs[step].record(Math.round(ms * 1_000));
    }
  }

  /** An order was stored, or has changed. */
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
