import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import type { statusEndpoint } from '@sluice/shared/wire/rest/operations/operations.ts';
import { metricsOf, type Metric, type MetricRow } from '@sluice/shared/operations/metric.ts';
import type { SigningProcess } from '../signer/client/client.ts';
import type { TradingReports, TradingStatus } from '@sluice/gateway/operations/report.ts';
import { endStates, storedStates } from '@sluice/gateway/store/order-model/order.ts';
import { orderSteps, type OrderStats } from '../model/order-stats.ts';
import type { FollowReport } from '../follow/thread/threaded-follower.ts';
import { noFollowerCounts } from '../follow/followed-orders.ts';
import { noReads } from '../follow/evidence/landed-reader.ts';
import type { PositionsReport } from '../positions/positions.ts';
import type { TriggerStats } from '../triggers/firing/trigger-stats.ts';
import type { RoleReport } from './role/trading-role.ts';
import type { LaneCounters } from '../send/lane.ts';
import { noSimulations, type Simulator } from '../nodes/simulate/simulator.ts';
import type { HotStateCounts } from '../state/hot-state.ts';

const metricsPrefix = 'sluice_gateway';
const modes = { off: 0, paper: 1, live: 2 } as const;
const openStates = storedStates.filter((state) => !endStates.has(state));

/** What a trading gateway reports about its orders. */
export interface OrderReport {
  readonly stats: OrderStats;
  readonly brokenBundles: number;
  readonly mode: keyof typeof modes;
  /** The operator has halted trading, or it is unknown whether trading is halted. */
  readonly halted: boolean;
  readonly role: RoleReport;
  /** Orders that are followed now. */
  readonly open: number;
  /** Triggers that have not ended. */
  readonly triggers: number;
  readonly triggerStats: TriggerStats;
  /** Counters of first sends. Those of repeated sends are in `follow`. */
  readonly lanes: FollowReport['lanes'];
  readonly follow: FollowReport;
  /** Positions of wallets; null if this gateway does not hold the trading role. */
  readonly positions: PositionsReport | null;
  /** The chain state in memory. */
  readonly state: Pick<HotStateCounts, 'links'>;
  readonly simulator: Simulator['counters'];
  readonly signer: { readonly fault: string | null; readonly ready: boolean; readonly counts: Readonly<SigningProcess['counts']> };
}

/** The report of a gateway that does not hold the trading role. */
export const noDesk: Pick<OrderReport, 'positions' | 'triggers' | 'open' | 'follow' | 'state' | 'simulator'> = {
  positions: null,
  triggers: 0,
  open: 0,
  follow: { counters: noFollowerCounts, openByState: new Map(), reads: noReads, lanes: [] },
  state: { links: [] },
  simulator: noSimulations(),
};

/** What the gateway reports of trading. `report` is null if it does not trade; quotes have metrics even then. */
export function tradingReports(
  trading: Pick<TradingReports, 'fault' | 'slot'> & { report(): OrderReport | null },
  quoteMetrics: () => readonly Metric[],
): TradingReports {
  const metrics = (report: OrderReport | null): readonly Metric[] => (report === null ? [] : orderMetrics(report));
  return {
    fault: () => trading.fault(),
    slot: () => trading.slot(),
    metrics: () => [...quoteMetrics(), ...metrics(trading.report())],
    status: () => tradingStatus(trading.report()),
  };
}

function tradingStatus(report: OrderReport | null): TradingStatus {
  if (report === null) return { orders: null, trading: null, triggers: null };
  const { mode, halted, role } = report;
  return { orders: orderStatus(report), trading: { mode, halted, role: role.holder }, triggers: triggerStatus(report) };
}

/** For `/status`. */
function orderStatus({ stats, open }: OrderReport): NonNullable<AnswerOf<typeof statusEndpoint>['orders']> {
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

function triggerStatus({ triggers, triggerStats: { begun, late, ended, sentUs } }: OrderReport): TradingStatus['triggers'] {
  return { open: triggers, begun, late, ...ended, sentUs: sentUs.summary() };
}

/** For `/metrics`. Labels are states and steps of an order, lanes and endpoints; all of them are bounded. */
function orderMetrics(report: OrderReport): Metric[] {
  const { stats, brokenBundles, mode, halted, role, follow, state, lanes, simulator, signer } = report;
  const { counters: follower, openByState } = follow;
  const byState = (of: 'orders' | 'oldestMs') => openStates.map((name) => [name, openByState.get(name)?.[of] ?? 0] as const);
  const oldest = byState('oldestMs').map(([name, ms]) => [name, ms / 1e3] as const);
  const steps = orderSteps.map((step) => [step, stats.stepsUs[step].distribution()] as const);
  const ofLanes = (name: keyof LaneCounters, help: string): MetricRow => {
    const later = new Map(follow.lanes.map((lane) => [lane.name, lane.counters[name]]));
    const sums = lanes.map((lane) => [lane.name, lane.counters[name] + (later.get(lane.name) ?? 0)] as const);
    return [`orders_lane_${name}_total`, help, { lane: Object.fromEntries(sums) }];
  };
  const rows: MetricRow[] = [
    ['trading_mode', 'TRADING: 0 off, 1 paper, 2 live.', modes[mode]],
    ['trading_halted', 'The operator has halted trading, or it is unknown whether trading is halted.', halted],
    ['trading_role', 'This gateway holds the trading role.', role.holder === 'self'],
    ['trading_role_known', 'It is known which gateway holds the trading role.', role.holder !== null],
    ['orders_handed_out_total', 'Calls handed to the gateway that holds the trading role.', role.handedOver.out],
    ['orders_handed_in_total', 'Calls of other gateways that were run here.', role.handedOver.in],
    ['orders_hand_over_unanswered_total', 'Calls that the gateway with the trading role did not answer.', role.handedOver.unanswered],
    ['orders_open', 'Orders that are followed to their end, by state.', { state: Object.fromEntries(byState('orders')) }],
    ['orders_oldest_seconds', 'Time that the oldest order of a state has been in it.', { state: Object.fromEntries(oldest) }],
    ['orders_taken_over_total', 'Orders taken over from a gateway that ended.', follower.takenOver],
    ['orders_forgotten_total', 'Orders of this gateway that were found in the store and were not followed.', follower.forgotten],
    ['orders_contradictions_total', 'Evidence that contradicts a stored order.', follower.contradictions],
    ['orders_store_failures_total', 'Changes of orders that the store did not accept, and that were tried again.', follower.storeFailures],
    ['orders_unfollowed_total', 'Orders that were not followed because too many were followed already.', follower.refused],
    ['orders_status_unanswered_total', 'Requests for statuses that a node did not answer.', follower.unanswered],
    ['orders_stored_total', 'Orders stored.', stats.stored],
    ['orders_finalized_total', 'Orders that ended filled.', stats.ended.finalized],
    ['orders_failed_total', 'Orders that ended failed.', stats.ended.failed],
    ['orders_expired_total', 'Orders that ended expired: they cannot land any more.', stats.ended.expired],
    ['orders_broken_bundles_total', 'Bundles of which some orders landed and others did not.', brokenBundles],
    ['orders_executed_total', 'Orders that were sent, and whose steps were measured.', stats.stepsUs.total.count],
    ['orders_step_seconds', 'Time of a step of an order that was sent.', { step: Object.fromEntries(steps) }],
    ['orders_simulation_passed_total', 'Simulations that passed.', simulator.passed],
    ['orders_simulation_failed_total', 'Simulations that failed.', simulator.failed],
    ['orders_simulation_deviates_total', 'Simulations that gave clearly more or less than quoted.', simulator.deviates],
    ['orders_simulation_contradicted_total', 'Simulations that another node contradicted for the same slot.', simulator.contradicted],
    ['orders_simulation_unavailable_total', 'Simulations that no node answered.', simulator.unavailable],
    ['orders_simulation_asked_total', 'Nodes asked for a simulation.', simulator.asked],
    ['orders_simulation_hedged_total', 'Times that a second node was asked as well.', simulator.hedged],
    ['orders_simulation_behind_total', 'Nodes that had not reached the slot.', simulator.behind],
    ['orders_simulation_malformed_total', 'Answers in an unknown form.', simulator.malformed],
    ['orders_signer_ready', 'The signing process is ready.', signer.ready],
    ['orders_signer_signed_total', 'Messages signed.', signer.counts.signed],
    ['orders_signer_refused_total', 'Messages that the signing process refused.', signer.counts.refused],
    ['orders_signer_unavailable_total', 'Messages that the signing process did not answer.', signer.counts.unavailable],
    ofLanes('first', 'Messages sent by a lane for the first time.'),
    ofLanes('again', 'Messages sent by a lane again.'),
    ofLanes('accepted', 'Messages that a lane accepted.'),
    ofLanes('refused', 'Messages that a lane refused.'),
    ofLanes('unanswered', 'Messages that a lane did not answer.'),
    ofLanes('malformed', 'Answers of a lane in an unknown form.'),
    ofLanes('untipped', 'Messages not sent by a lane because they carry no tip for it.'),
    ofLanes('withheld', 'Sends omitted because trading was halted.'),
    ofLanes('overflowed', 'Messages not sent by a lane because too many waited for it.'),
  ];
  return [
    ...metricsOf(metricsPrefix, rows),
    ...triggerMetrics(report),
    ...positionMetrics(report),
    ...state.links.flatMap((link, index) => linkMetrics(link, String(index + 1))),
  ];
}

function triggerMetrics({ triggers, triggerStats: { begun, late, ended, sentUs } }: OrderReport): Metric[] {
  return metricsOf(metricsPrefix, [
    ['triggers_open', 'Triggers that have not ended.', triggers],
    ['triggers_begun_total', 'Firings of triggers that began.', begun],
    ['triggers_late_total', 'Firings that began late.', late],
    ['triggers_ended_total', 'Triggers that have ended, by state.', { state: { ...ended } }],
    ['triggers_sent_seconds', 'Time from the event that met a condition to the answer for the sent order.', sentUs.distribution()],
  ]);
}

function positionMetrics({ positions }: OrderReport): Metric[] {
  const { wallets, undecided, reads } = positions ?? { wallets: 0, undecided: 0, reads: null };
  return metricsOf(metricsPrefix, [
    ['positions_wallets', 'Wallets whose positions this gateway keeps.', wallets],
    ['positions_undecided', 'Trades of these wallets that can still be retracted.', undecided],
    ['positions_histories_total', 'Histories of wallets that were read from the chain.', reads?.histories ?? 0],
    ['positions_checks_total', 'Comparisons of positions with the balances of the chain.', reads?.checks ?? 0],
    ['positions_differences_total', 'Comparisons with a difference that no trade explains.', reads?.differences ?? 0],
    ['positions_failures_total', 'Reads of the chain for positions that failed, and were repeated.', reads?.failures ?? 0],
  ]);
}

function linkMetrics({ state, slot, connects, malformed, forks, drops }: HotStateCounts['links'][number], endpoint: string): Metric[] {
  const rows: MetricRow[] = [
    ['chain_link_up', 'The PubSub link to an endpoint, for trading, is up and reports slots.', state !== 'down' && slot !== null],
    ['chain_link_slot', 'Newest slot that the link reported; 0 before the first.', slot ?? 0],
    ['chain_link_connects_total', 'Connections to the endpoint that were begun.', connects],
    ['chain_link_malformed_total', 'Account changes that the endpoint reported in an unknown form.', malformed],
    ['chain_link_dropped_total', 'Times that the endpoint was dropped because of frames that no honest node sends.', drops],
    ['chain_link_forks_total', 'Forks that the endpoint went through.', forks],
  ];
  return metricsOf(metricsPrefix, rows, { endpoint });
}
