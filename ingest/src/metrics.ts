import type { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { metricsOf, type Metric } from '@sluice/shared/operations/metric.ts';
import type { Parts } from '@sluice/shared/operations/readiness.ts';
import { rpcMetrics } from '@sluice/shared/operations/rpc-metrics.ts';
import type { EndpointHealth } from '@sluice/shared/solana/rpc.ts';
import type { EndpointHealth as PubSubHealth } from './sources/source.ts';
import type { IngestStats } from './stats.ts';

const makers = metricsOf('sluice_ingest');
const { counter, gauge, histogram } = makers;

/** A chain that reports no slot for this long is not followed: slots last 200 to 400 ms. */
const maxSlotAgeMs = 5_000;

/** An ingest process' own numbers. Labels are the endpoints of the settings, by their numbers, and the venues. */
export function ingestMetrics(stats: IngestStats, publishDelayUs: LatencyHistogram, rpc: readonly EndpointHealth[]): Metric[] {
  const { publisher, pipeline, notifications, sightings, events, market, metadata, solUsd } = stats;
  return [
    gauge('leads', 'This process publishes; of several, one does.', stats.leads ? 1 : 0),
    gauge('slot', 'Newest slot of the chain that the endpoints agree on.', stats.slot),
    gauge(
      'slot_age_seconds',
      'Time since a newer slot was reported; -1 before the first.',
      stats.slotAgeMs === null ? -1 : stats.slotAgeMs / 1e3,
    ),
    gauge('endpoints', 'RPC endpoints of the settings.', stats.endpoints.length),
    gauge('endpoints_up', 'RPC endpoints that report the chain.', stats.endpointsUp),
    ...stats.endpoints.flatMap(endpointMetrics),
    ...rpcMetrics(makers, rpc),
    counter('blind_periods_total', 'Times without any endpoint.', stats.blindPeriods),
    ...continuityMetrics(stats),
    counter('notifications_total', 'Transactions seen for the first time.', sightings.new),
    counter('notifications_repeated_total', 'Transactions that another endpoint had reported already.', sightings.repeated),
    counter('notifications_malformed_total', 'Notifications of an unknown form, or of an impossible slot.', notifications.malformed),
    ...venueMetrics(stats),
    counter('transactions_incomplete_total', 'Transactions whose first sighting did not show all of their events.', pipeline.incomplete),
    counter('transactions_hidden_total', 'Of those, with a program that does not show its trades in logs.', pipeline.hidden),
    counter('transactions_completed_total', 'Of those incomplete, completed.', pipeline.completed),
    counter('transactions_lost_total', 'Of those incomplete, not available in time.', pipeline.lostTransactions),
    counter('events_lost_total', 'Events given up because their pool could not be found out.', pipeline.lostEvents),
    gauge('events_waiting', 'Events that wait for their pool.', pipeline.waiting),
    gauge('pools', 'Pools that are known.', pipeline.pools),
    counter('trades_total', 'Trades made of what was decoded.', events.trades),
    counter('new_tokens_total', 'New tokens.', events.newTokens),
    counter('migrations_total', 'Migrations.', events.migrations),
    counter('published_total', 'Events that the bus took.', publisher.published),
    counter('publish_failures_total', 'Times that the bus did not take events.', publisher.failures),
    counter('dropped_total', 'Events dropped because the bus took none for too long.', publisher.dropped),
    counter('refused_total', 'Events that the bus refused.', publisher.refused),
    counter('retracted_total', 'Events taken back because their fork died.', publisher.retracted),
    gauge('publish_waiting', 'Events that wait for the bus.', publisher.buffered),
    histogram('publish_delay_seconds', 'From receiving an event to its being on the bus.', publishDelayUs.distribution()),
    gauge('metadata_waiting', "New tokens that wait for their creator's text.", metadata.waiting),
    gauge('market_keeps', "This process keeps the market's state; of several, one does.", market.keeps ? 1 : 0),
    gauge('market_waiting', "Events that wait to become part of the market's state.", market.waiting),
    counter('market_lost_total', "Events that never became part of the market's state.", market.lostEntries),
    gauge('market_undecided', 'Trades and prices that can still be taken back.', market.undecided),
    counter('market_forgotten_total', 'Trades of undecided slots that count for good, as there were too many.', market.forgotten),
    counter('market_failures_total', "Times that the market's state could not be stored.", market.failures),
    counter('market_restarts_total', 'Times that the thread that keeps it ended.', market.restarts),
    gauge('sol_usd_age_seconds', 'Age of the SOL/USD price; -1 where there is none.', solUsd === null ? -1 : solUsd.ageMs / 1e3),
  ];
}

function endpointMetrics({
  index,
  state,
  slotsBehind,
  frames,
  malformedFrames,
  connects,
  refusedSubscriptions,
  drops,
}: PubSubHealth): Metric[] {
  const endpoint = { endpoint: String(index + 1) };
  return [
    gauge('endpoint_up', 'The endpoint is connected and reports the chain.', state === 'down' ? 0 : 1, endpoint),
    gauge('endpoint_slots_behind', 'Slots that it is behind the newest.', Math.max(0, slotsBehind), endpoint),
    counter('endpoint_frames_total', 'Frames that it sent.', frames, endpoint),
    counter('endpoint_malformed_total', 'Frames of an unknown form.', malformedFrames, endpoint),
    counter('endpoint_connects_total', 'Connections to it that were begun.', connects, endpoint),
    counter('endpoint_dropped_total', 'Times that it was dropped for frames that no honest node sends.', drops, endpoint),
    counter('endpoint_refused_subscriptions_total', 'Subscriptions that it refused.', refusedSubscriptions, endpoint),
  ];
}

function continuityMetrics({ continuity, slot }: IngestStats): Metric[] {
  if (continuity === null) return [];
  const { watermark, outvoted, slots, gaps, blocks } = continuity;
  const { open, seen, filled, skipped, dead, unjudged } = slots;
  return [
    gauge('watermark_slot', 'Slot up to which everything is known to be complete; 0 before the first.', watermark),
    gauge(
      'watermark_slots_behind',
      'Slots from there to the newest; 0 where this process does not lead.',
      watermark === 0 ? 0 : Math.max(0, slot - watermark),
    ),
    gauge('slots_open', 'Slots of which it is not known yet what became of them.', open),
    ...Object.entries({ seen, filled, skipped, dead, unjudged }).map(([fate, count]) =>
      counter(
        'slots_total',
        'Slots by what became of them: seen live, filled from history, without a block, on a dead fork, not found out.',
        count,
        { kind: fate },
      ),
    ),
    counter('confirmations_outvoted_total', 'Slots that an endpoint confirmed and too few others ever did.', outvoted),
    counter('gap_transactions_total', 'Transactions not seen live that were read from history.', gaps.filled),
    counter('gap_transactions_lost_total', 'Transactions not seen live that no endpoint shows.', gaps.lostTransactions),
    counter(
      'gap_slots_lost_total',
      'Slots not seen live that no endpoint lists any more, or that endpoints contradict each other about.',
      gaps.lostSlots,
    ),
    ...Object.entries(blocks).map(([kind, count]) =>
      counter(
        'gap_blocks_total',
        'Whole blocks requested to fill gaps: read, of these too short, reported as skipped, not available any more, refused.',
        count,
        { kind },
      ),
    ),
    counter('gap_rounds_failed_total', 'Comparisons with what nodes have written down that no endpoint answered whole.', gaps.failedRounds),
  ];
}

function venueMetrics({ venues }: IngestStats): Metric[] {
  return Object.entries(venues).flatMap(([venue, sources]) =>
    Object.entries(sources).flatMap(([source, { decoded, unknown, malformed }]) => [
      counter('decoded_total', 'Events and accounts of a venue that were understood.', decoded, { venue, source }),
      counter('unknown_total', 'Of a kind that is not known: its program has perhaps changed.', unknown, { venue, source }),
      counter('malformed_total', 'Of a known kind, but not of its layout: its program has perhaps changed.', malformed, { venue, source }),
    ]),
  );
}

/** For `/readyz` of an ingest process. A process that stands by is as ready as the leader. */
export function ingestParts({ endpoints, endpointsUp, slotAgeMs, busAnswers }: IngestStats): Parts {
  const chain =
    endpointsUp === 0
      ? `None of ${endpoints.length} RPC endpoints is up.`
      : slotAgeMs === null || slotAgeMs > maxSlotAgeMs
        ? 'No endpoint reports new slots.'
        : null;
  return { chain, bus: busAnswers ? null : 'The bus does not answer.' };
}
