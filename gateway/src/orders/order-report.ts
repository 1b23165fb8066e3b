import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { statusEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { metricsOf, type Metric } from '@sluice/shared/operations/metric.ts';
import type { SignerCounts } from '../signer/client.ts';
import { endStates, orderStates } from './model/order.ts';
import { orderSteps, type OrderStats } from './ledger/order-stats.ts';
import type { FollowReport } from './follow/order-follower.ts';
import { noFollowerCounts } from './follow/follower-counters.ts';
import { noReads } from './evidence/landed-reader.ts';
import type { RoleReport } from './role/trading-role.ts';
import type { LaneCounters } from './send/lane.ts';
import { noneAsked, type Simulator } from './simulate/simulator.ts';
import type { HotStateCounts } from './state/hot-state.ts';

const { counter, gauge, histogram } = metricsOf('sluice_gateway');
const modes = { off: 0, paper: 1, live: 2 } as const;
const openStates = orderStates.filter((state) => !endStates.has(state));

/** What a gateway that trades tells of its orders. */
export interface OrderReport {
  readonly stats: OrderStats;
  readonly mode: keyof typeof modes;
  /** Trading is halted by its switch, or nobody can tell. */
  readonly halted: boolean;
  readonly role: RoleReport;
  /** Orders that are followed. */
  readonly open: number;
  /** Of first rounds; those of later ones are in `follow`. */
  readonly lanes: FollowReport['lanes'];
  readonly follow: FollowReport;
  /** What is kept at hand of the chain. */
  readonly state: Pick<HotStateCounts, 'links'>;
  readonly simulator: Simulator['counters'];
  readonly signer: { readonly fault: string | null; readonly ready: boolean; readonly counts: Readonly<SignerCounts> };
}

/** The report of a gateway that does not hold the trading role. */
export const noDesk: Pick<OrderReport, 'open' | 'follow' | 'state' | 'simulator'> = {
  open: 0,
  follow: { counters: noFollowerCounts, openByState: new Map(), reads: noReads, lanes: [] },
  state: { links: [] },
  simulator: noneAsked(),
};

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
export function orderMetrics({ stats, mode, halted, role, follow, state, lanes, simulator, signer }: OrderReport): Metric[] {
  const { counters: follower, openByState } = follow;
  const ofLanes = (name: keyof LaneCounters, help: string): Metric[] =>
    lanes.map((lane) => {
      const later = follow.lanes.find((one) => one.name === lane.name)?.counters[name] ?? 0;
      return counter(`orders_lane_${name}_total`, help, lane.counters[name] + later, { lane: lane.name });
    });
  return [
    gauge('trading_mode', 'TRADING: 0 off, 1 paper, 2 live.', modes[mode]),
    gauge('trading_halted', 'Trading is halted by its switch, or nobody can tell.', halted ? 1 : 0),
    gauge('trading_role', 'This gateway holds the trading role.', role.holder === 'self' ? 1 : 0),
    gauge('trading_role_known', 'It is known which gateway holds the trading role.', role.holder === null ? 0 : 1),
    counter('orders_handed_out_total', 'Calls handed to the gateway that holds the trading role.', role.handedOver.out),
    counter('orders_handed_in_total', 'Calls of other gateways that were run here.', role.handedOver.in),
    counter(
      'orders_hand_over_unanswered_total',
      'Calls that the gateway with the trading role did not answer.',
      role.handedOver.unanswered,
    ),
    ...openStates.map((name) =>
      gauge('orders_open', 'Orders that are followed to their end, by state.', openByState.get(name)?.orders ?? 0, { state: name }),
    ),
    ...openStates.map((name) =>
      gauge(
        'orders_oldest_seconds',
        'Time that the oldest order of a state has been in it.',
        (openByState.get(name)?.oldestMs ?? 0) / 1e3,
        {
          state: name,
        },
      ),
    ),
    counter('orders_taken_over_total', 'Orders taken over from a gateway that is gone.', follower.takenOver),
    counter('orders_forgotten_total', 'Orders of our own that were found in the store and not at hand.', follower.forgotten),
    counter('orders_contradictions_total', 'Evidence that cannot be true beside what is stored.', follower.contradictions),
    counter(
      'orders_store_failures_total',
      'Changes of orders that the store did not take, and that were tried again.',
      follower.storeFailures,
    ),
    counter('orders_unfollowed_total', 'Orders for which there was no room among those that are followed.', follower.refused),
    counter('orders_status_unanswered_total', 'Questions for statuses that a node did not answer.', follower.unanswered),
    ...state.links.flatMap((link, index) => linkMetrics(link, String(index + 1))),
    counter('orders_stored_total', 'Orders stored.', stats.stored),
    counter('orders_finalized_total', 'Orders that ended filled.', stats.ended.finalized),
    counter('orders_failed_total', 'Orders that ended failed.', stats.ended.failed),
    counter('orders_expired_total', 'Orders that can land no more.', stats.ended.expired),
    counter('orders_executed_total', 'Orders that were sent, and whose steps were measured.', stats.stepsUs.total.count),
    ...orderSteps.map((step) =>
      histogram('orders_step_seconds', 'Time of a step of an order that was sent.', stats.stepsUs[step].distribution(), { step }),
    ),
    counter('orders_simulation_passed_total', 'Simulations that passed.', simulator.passed),
    counter('orders_simulation_failed_total', 'Simulations that failed.', simulator.failed),
    counter('orders_simulation_deviates_total', 'Simulations that gave clearly more or less than quoted.', simulator.deviates),
    counter(
      'orders_simulation_contradicted_total',
      'Simulations that another node contradicted for the same slot.',
      simulator.contradicted,
    ),
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

function linkMetrics({ state, slot, connects, malformed, forks, drops }: HotStateCounts['links'][number], endpoint: string): Metric[] {
  return [
    gauge(
      'chain_link_up',
      'The link to an endpoint that keeps the state for trading tells slots.',
      state === 'down' || slot === null ? 0 : 1,
      {
        endpoint,
      },
    ),
    gauge('chain_link_slot', 'Newest slot that it told; 0 before the first.', slot ?? 0, { endpoint }),
    counter('chain_link_connects_total', 'Connections to it that were begun.', connects, { endpoint }),
    counter('chain_link_malformed_total', 'Changes of accounts that it told in an unknown form.', malformed, { endpoint }),
    counter('chain_link_dropped_total', 'Times that it was dropped for frames that no honest node sends.', drops, { endpoint }),
    counter('chain_link_forks_total', 'Forks that it went through.', forks, { endpoint }),
  ];
}
