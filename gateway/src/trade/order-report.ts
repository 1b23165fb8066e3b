import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { statusEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { counter, gauge, type Metric } from '../http/routes/metrics.ts';
import type { SignerCounts } from '../signer/client.ts';
import { orderSteps, type OrderStats } from './order-stats.ts';
import type { LaneCounters } from './send/lane.ts';
import type { Simulator } from './send/simulator.ts';

/** What a gateway that trades tells of its orders. */
export interface OrderReport {
  readonly stats: OrderStats;
  /** Orders that are followed. */
  readonly open: number;
  readonly lanes: readonly { readonly name: string; readonly counters: Readonly<LaneCounters> }[];
  readonly simulator: Simulator['counters'];
  readonly signer: { readonly ready: boolean; readonly counts: Readonly<SignerCounts> };
}

/** For `/status`. */
export function orderStatus({ stats, open }: OrderReport): NonNullable<AnswerOf<typeof statusEndpoint>['orders']> {
  const { quote, build, simulate, sign, store, send, total } = stats.stepsUs;
  return {
    open,
    stored: stats.stored,
    ...stats.ended,
    executionUs: {
      quote: quote.summary(),
      build: build.summary(),
      simulate: simulate.summary(),
      sign: sign.summary(),
      store: store.summary(),
      send: send.summary(),
      total: total.summary(),
    },
  };
}

/** For `/metrics`. Labels are the steps of an order and the lanes of the settings. */
export function orderMetrics({ stats, open, lanes, simulator, signer }: OrderReport): Metric[] {
  const ofSteps = (name: string, help: string, fraction: number): Metric[] =>
    orderSteps.map((step) => gauge(name, help, (stats.stepsUs[step].percentile(fraction) ?? 0) / 1e6, { step }));
  const ofLanes = (name: keyof LaneCounters, help: string): Metric[] =>
    lanes.map((lane) => counter(`orders_lane_${name}_total`, help, lane.counters[name], { lane: lane.name }));
  return [
    gauge('orders_open', 'Orders that are followed to their end.', open),
    counter('orders_stored_total', 'Orders stored.', stats.stored),
    counter('orders_finalized_total', 'Orders that ended filled.', stats.ended.finalized),
    counter('orders_failed_total', 'Orders that ended failed.', stats.ended.failed),
    counter('orders_expired_total', 'Orders that can land no more.', stats.ended.expired),
    counter('orders_executed_total', 'Orders that were sent, and whose steps were measured.', stats.stepsUs.total.count),
    ...ofSteps('orders_step_p50_seconds', 'Time of a step of an order, median.', 0.5),
    ...ofSteps('orders_step_p99_seconds', 'Time of a step of an order, 99th percentile.', 0.99),
    counter('orders_simulation_passed_total', 'Simulations that passed.', simulator.passed),
    counter('orders_simulation_failed_total', 'Simulations that failed.', simulator.failed),
    counter('orders_simulation_unavailable_total', 'Simulations that no node answered.', simulator.unavailable),
    counter('orders_simulation_asked_total', 'Nodes asked for a simulation.', simulator.asked),
    counter('orders_simulation_hedged_total', 'Times that a second node was asked as well.', simulator.hedged),
    counter('orders_simulation_behind_total', 'Nodes that had not reached the slot.', simulator.behind),
    counter('orders_simulation_malformed_total', 'Answers of an unknown form.', simulator.malformed),
    gauge('orders_signer_ready', 'The signing process is ready.', signer.ready ? 1 : 0),
    counter('orders_signer_signed_total', 'Messages signed.', signer.counts.signed),
    counter('orders_signer_refused_total', 'Messages that the signing process refused.', signer.counts.refused),
    counter('orders_signer_unavailable_total', 'Messages without an answer of the signing process.', signer.counts.unavailable),
    ...ofLanes('first', 'Messages sent by a lane for the first time.'),
    ...ofLanes('again', 'Messages sent by a lane once more.'),
    ...ofLanes('accepted', 'Messages that a lane took.'),
    ...ofLanes('refused', 'Messages that a lane refused.'),
    ...ofLanes('unanswered', 'Messages to which a lane gave no answer.'),
    ...ofLanes('malformed', 'Answers of a lane of an unknown form.'),
    ...ofLanes('untipped', 'Messages that a lane was passed over for, as they carry no tip for it.'),
    ...ofLanes('withheld', 'Sends left out because trading was halted.'),
    ...ofLanes('overflowed', 'Messages that a lane had no room for.'),
  ];
}
