import type { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { metricsOf, type Metric } from '@sluice/shared/operations/metric.ts';
import type { Parts } from '@sluice/shared/operations/readiness.ts';
import { rpcMetrics } from '@sluice/shared/operations/rpc-metrics.ts';
import type { EndpointHealth } from '@sluice/shared/solana/rpc/rpc.ts';
import type { EndpointHealth as PubSubHealth } from './sources/source.ts';
import type { IngestStats } from './stats.ts';

export const makers = metricsOf('sluice_ingest');
const { counter, gauge, histogram } = makers;

/** A chain that reports no slot for this long is not followed: slots last about 200 ms. */
const maxSlotAgeMs = 5_000;

/** An ingest process' own numbers. Labels are the endpoints of the settings, by their numbers, and the venues. */
export function ingestMetrics(stats: IngestStats, publishDelayUs: LatencyHistogram, rpc: readonly EndpointHealth[]): Metric[] {
  const { publisher, pipeline, notifications, sightings, events, market, pools, metadata, solUsd } = stats;
  return [
    gauge('leads', '1 if this process publishes; one of several does.', stats.leads ? 1 : 0),
    gauge('slot', 'Newest slot of the chain that the endpoints agree on.', stats.slot),
    gauge(
      'slot_age_seconds',
      'Time since a newer slot was reported; -1 before the first.',
      stats.slotAgeMs === null ? -1 : stats.slotAgeMs / 1e3,
    ),
    gauge('endpoints', 'RPC endpoints of the settings.', new Set(stats.endpoints.map(({ index }) => index)).size),
    gauge('endpoints_up', 'RPC endpoints that report the chain.', stats.endpointsUp),
    ...stats.endpoints.flatMap(endpointMetrics),
    ...rpcMetrics(makers, rpc),
    ...stats.sources.flatMap(sourceMetrics),
    counter('blind_periods_total', 'Times without any endpoint.', stats.blindPeriods),
    ...continuityMetrics(stats),
    counter('notifications_total', 'Transactions seen for the first time.', sightings.new),
    counter('notifications_repeated_total', 'Transactions that another endpoint had reported already.', sightings.repeated),
    counter('notifications_malformed_total', 'Notifications of an unknown form, or of an impossible slot.', notifications.malformed),
    counter('second_banks_total', 'Slots of which a gRPC endpoint reported a second bank.', notifications.secondBanks),
    ...venueMetrics(stats),
    counter('transactions_incomplete_total', 'Transactions whose first sighting did not show all of their events.', pipeline.incomplete),
    counter('transactions_hidden_total', 'Of the incomplete ones: with a program that does not show its trades in logs.', pipeline.hidden),
    counter('transactions_completed_total', 'Of the incomplete ones: completed.', pipeline.completed),
    counter('transactions_lost_total', 'Of the incomplete ones: not available in time.', pipeline.lostTransactions),
    counter('events_lost_total', 'Events given up because their pool could not be resolved.', pipeline.lostEvents),
    gauge('events_waiting', 'Events that wait for their pool.', pipeline.waiting),
    gauge('pools', 'Known pools.', pipeline.pools),
    counter('trades_total', 'Decoded trades.', events.trades),
    counter('new_tokens_total', 'New tokens.', events.newTokens),
    counter('migrations_total', 'Migrations.', events.migrations),
    counter('published_total', 'Events that the bus accepted.', publisher.published),
    counter('publish_failures_total', 'Times that the bus did not accept events.', publisher.failures),
    counter('dropped_total', 'Events dropped because the bus accepted none for too long.', publisher.dropped),
    counter('refused_total', 'Events that the bus refused.', publisher.refused),
    counter('retracted_total', 'Events retracted because their fork died.', publisher.retracted),
    gauge('publish_waiting', 'Events that wait for the bus.', publisher.buffered),
    histogram('publish_delay_seconds', 'Time from receiving an event until it is on the bus.', publishDelayUs.distribution()),
    gauge('metadata_waiting', "New tokens that wait for their creator's text.", metadata.waiting),
    gauge('market_keeps', "1 if this process computes the market's state; one of several does.", market.keeps ? 1 : 0),
    gauge('market_waiting', "Events that wait to become part of the market's state.", market.waiting),
    counter('market_lost_total', "Events that never became part of the market's state.", market.lostEntries),
    gauge('market_undecided', 'Trades and prices that can still be retracted.', market.undecided),
    counter(
      'market_forgotten_total',
      'Trades of undecided slots that were counted permanently, because there were too many.',
      market.forgotten,
    ),
    counter('market_failures_total', "Times that the market's state could not be stored.", market.failures),
    counter('market_restarts_total', "Times that the thread with the market's state ended.", market.restarts),
    gauge('pool_directory_keeps', '1 if this process keeps the directory of pools; one of several does.', pools.keeps ? 1 : 0),
    gauge('pool_directory_waiting', 'Pools that wait to be written to the directory.', pools.waiting),
    counter('pool_directory_failures_total', 'Times that the directory of pools could not be stored.', pools.failures),
    gauge('sol_usd_age_seconds', 'Age of the SOL/USD price; -1 if there is none.', solUsd === null ? -1 : solUsd.ageMs / 1e3),
  ];
}

function sourceMetrics({ name, first, leadMs, holes, contradicted }: IngestStats['sources'][number]): Metric[] {
  const source = { source: name };
  return [
    counter('source_first_total', 'Transactions that a source reported before all others.', first, source),
    ...(leadMs === null
      ? []
      : [
          gauge(
            'source_lead_seconds',
            'By how much it was first on average, if others reported the transaction too.',
            leadMs / 1e3,
            source,
          ),
        ]),
    counter('source_holes_total', 'Slots of which it knows that it missed something.', holes, source),
    counter(
      'source_contradicted_total',
      'Transactions that it reported with other contents than the confirmed block has.',
      contradicted,
      source,
    ),
  ];
}

function endpointMetrics({
  source,
  index,
  state,
  slotsBehind,
  frames,
  malformedFrames,
  connects,
  refusedSubscriptions,
  drops,
}: PubSubHealth): Metric[] {
  const endpoint = { endpoint: String(index + 1), source };
  return [
    gauge('endpoint_up', 'The endpoint is connected and reports the chain.', state === 'down' ? 0 : 1, endpoint),
    gauge('endpoint_slots_behind', 'How many slots it is behind the newest.', Math.max(0, slotsBehind), endpoint),
    counter('endpoint_frames_total', 'Frames that it sent.', frames, endpoint),
    counter('endpoint_malformed_total', 'Frames of an unknown form.', malformedFrames, endpoint),
    counter('endpoint_connects_total', 'Attempts to connect to it.', connects, endpoint),
    counter('endpoint_dropped_total', 'Times that it was dropped for frames that no honest node sends.', drops, endpoint),
    counter('endpoint_refused_subscriptions_total', 'Subscriptions that it refused.', refusedSubscriptions, endpoint),
  ];
}

function continuityMetrics({ continuity, slot }: IngestStats): Metric[] {
  if (continuity === null) return [];
  const { watermark, outvoted, slots, gaps, blocks, forks, settlement } = continuity;
  const { open, seen, filled, skipped, dead, unjudged } = slots;
  return [
    gauge('watermark_slot', 'Slot up to which everything is known to be complete; 0 before the first.', watermark),
    gauge(
      'watermark_slots_behind',
      'Slots from the watermark to the newest; 0 if this process does not lead.',
      watermark === 0 ? 0 : Math.max(0, slot - watermark),
    ),
    gauge('slots_open', 'Slots whose state is not known yet.', open),
    ...Object.entries({ seen, filled, skipped, dead, unjudged }).map(([fate, count]) =>
      counter('slots_total', 'Slots by state: seen live, filled from history, without a block, on a dead fork, unknown.', count, {
        kind: fate,
      }),
    ),
    gauge('slots_unsettled', 'Confirmed slots that wait for their block.', settlement.pending),
    ...Object.entries({ read: settlement.read, unread: settlement.unread, contradicted: settlement.contradicted }).map(([kind, count]) =>
      counter(
        'slots_settled_total',
        'Confirmed slots with events, by what was found of their block: read, unread (confirmed by votes alone), contradicted by endpoints.',
        count,
        { kind },
      ),
    ),
    counter('settlement_outvoted_total', 'Confirmed blocks of one endpoint that the majority did not share.', settlement.outvoted),
    counter('transactions_replaced_total', 'Reported transactions that the confirmed block of their slot lacks.', forks.replaced),
    counter(
      'transactions_contested_total',
      'Transactions reported with different contents for one slot, and read again from the confirmed chain.',
      forks.contested,
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
        'Whole blocks requested to fill gaps: read, of these incomplete, reported as skipped, no longer available, refused.',
        count,
        { kind },
      ),
    ),
    counter('gap_rounds_failed_total', 'Comparisons with the records of nodes that no endpoint answered completely.', gaps.failedRounds),
  ];
}

function venueMetrics({ venues }: IngestStats): Metric[] {
  return Object.entries(venues).flatMap(([venue, sources]) =>
    Object.entries(sources).flatMap(([source, { decoded, unknown, malformed }]) => [
      counter('decoded_total', 'Events and accounts of a venue that were decoded.', decoded, { venue, source }),
      counter('unknown_total', 'Events and accounts of an unknown kind; the program may have changed.', unknown, { venue, source }),
      counter('malformed_total', 'Events and accounts of a known kind with an unknown layout; the program may have changed.', malformed, {
        venue,
        source,
      }),
    ]),
  );
}

/** For `/readyz` of an ingest process. A process that does not lead is as ready as the leader. */
export function ingestParts({ endpoints, endpointsUp, slotAgeMs, busAnswers, continuity }: IngestStats): Parts {
  const chain =
    endpointsUp === 0
      ? `None of ${endpoints.length} RPC endpoints is up.`
      : slotAgeMs === null || slotAgeMs > maxSlotAgeMs
        ? 'No endpoint reports new slots.'
        : null;
  const blocks =
    continuity === null || continuity.settlement.readsBlocks
      ? null
      : 'No endpoint returned a confirmed block within ten seconds, so slots are confirmed by votes alone.';
  return { chain, bus: busAnswers ? null : 'The bus does not answer.', blocks };
}
