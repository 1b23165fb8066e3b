import type { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';
import { inSeconds, metricsOf, type Metric, type MetricRow } from '@sluice/shared/operations/metric.ts';
import type { Parts } from '@sluice/shared/operations/readiness.ts';
import { rpcMetrics } from '@sluice/shared/operations/rpc-metrics.ts';
import type { EndpointHealth } from '@sluice/shared/solana/rpc/rpc.ts';
import type { ProgramCounts } from './sources/programs/messages.ts';
import type { EndpointHealth as PubSubHealth } from './sources/source.ts';
import type { IngestStats } from './stats.ts';

export const metricsPrefix = 'sluice_ingest';

/** A chain that reports no slot for this long is not followed: slots last about 200 ms. */
const maxSlotAgeMs = 5_000;

/** Programs with an IDL, all together. */
function programRows({ programs }: IngestStats): readonly MetricRow[] {
  const sum = (of: (counts: ProgramCounts) => number): number => Object.values(programs).reduce((all, counts) => all + of(counts), 0);
  return [
    [
      'program_records_total',
      'Events, instructions and accounts that IDLs decoded.',
      sum((one) => one.events + one.instructions + one.accounts),
    ],
    ['program_records_refused_total', 'Records that do not fit their IDL, or are too long.', sum(({ refused }) => refused)],
    [
      'program_records_dropped_total',
      'Records and transactions of programs that a bound left out; clients got a gap.',
      sum(({ dropped }) => dropped),
    ],
    ['idl_faults', 'Files of IDL_DIR whose newest version is refused.', sum(({ fault }) => (fault === null ? 0 : 1))],
  ];
}

/** An ingest process' own numbers. Labels are the endpoints of the settings, by their numbers, and the venues. */
export function ingestMetrics(stats: IngestStats, publishDelayUs: LatencyHistogram, rpc: readonly EndpointHealth[]): Metric[] {
  const { publisher, pipeline, notifications, sightings, events, market, pools, metadata, solUsd } = stats;
  return [
    ...metricsOf(metricsPrefix, [
      ['leads', '1 if this process publishes; one of several does.', stats.leads],
      ['slot', 'Newest slot of the chain that the endpoints agree on.', stats.slot],
      ['slot_age_seconds', 'Time since a newer slot was reported; -1 before the first.', inSeconds(stats.slotAgeMs)],
      ['endpoints', 'RPC endpoints of the settings.', new Set(stats.endpoints.map(({ index }) => index)).size],
      ['endpoints_up', 'RPC endpoints that report the chain.', stats.endpointsUp],
      ['blind_periods_total', 'Times without any endpoint.', stats.blindPeriods],
      ...continuityRows(stats),
      ['notifications_total', 'Transactions seen for the first time.', sightings.new],
      ['notifications_repeated_total', 'Transactions that another endpoint had reported already.', sightings.repeated],
      ['notifications_malformed_total', 'Notifications of an unknown form, or of an impossible slot.', notifications.malformed],
      ['second_banks_total', 'Slots of which a gRPC endpoint reported a second bank.', notifications.secondBanks],
      ['transactions_incomplete_total', 'Transactions whose first sighting did not show all of their events.', pipeline.incomplete],
      ['transactions_hidden_total', 'Of the incomplete ones: with a program that does not show its trades in logs.', pipeline.hidden],
      ['transactions_completed_total', 'Of the incomplete ones: completed.', pipeline.completed],
      ['transactions_lost_total', 'Of the incomplete ones: not available in time.', pipeline.lostTransactions],
      ['events_lost_total', 'Events given up because their pool could not be resolved.', pipeline.lostEvents],
      ['events_waiting', 'Events that wait for their pool.', pipeline.waiting],
      ['pools', 'Known pools.', pipeline.pools],
      ['trades_total', 'Decoded trades.', events.trades],
      ['new_tokens_total', 'New tokens.', events.newTokens],
      ['migrations_total', 'Migrations.', events.migrations],
      ['pool_events_total', 'Opened pools, and liquidity that came or went.', events.poolEvents],
      ['published_total', 'Events that the bus accepted.', publisher.published],
      ['publish_failures_total', 'Times that the bus did not accept events.', publisher.failures],
      ['dropped_total', 'Events dropped because the bus accepted none for too long.', publisher.dropped],
      ['refused_total', 'Events that the bus refused.', publisher.refused],
      ...programRows(stats),
      ['retracted_total', 'Events retracted because their fork died.', publisher.retracted],
      ['publish_waiting', 'Events that wait for the bus.', publisher.buffered],
      ['publish_delay_seconds', 'Time from receiving an event until it is on the bus.', publishDelayUs.distribution()],
      ['metadata_waiting', "New tokens that wait for their creator's text.", metadata.waiting],
      ['market_keeps', "1 if this process computes the market's state; one of several does.", market.keeps],
      ['market_waiting', "Events that wait to become part of the market's state.", market.waiting],
      ['market_lost_total', "Events that never became part of the market's state.", market.lostEntries],
      ['market_undecided', 'Trades and prices that can still be retracted.', market.undecided],
      ['market_forgotten_total', 'Trades of undecided slots that were counted permanently, because there were too many.', market.forgotten],
      ['market_failures_total', "Times that the market's state could not be stored.", market.failures],
      ['market_restarts_total', "Times that the thread with the market's state ended.", market.restarts],
      ['pool_directory_keeps', '1 if this process keeps the directory of pools; one of several does.', pools.keeps],
      ['pool_directory_waiting', 'Pools that wait to be written to the directory.', pools.waiting],
      ['pool_directory_failures_total', 'Times that the directory of pools could not be stored.', pools.failures],
      ['sol_usd_age_seconds', 'Age of the SOL/USD price; -1 if there is none.', inSeconds(solUsd?.ageMs ?? null)],
    ]),
    ...stats.endpoints.flatMap(endpointMetrics),
    ...rpcMetrics(metricsPrefix, rpc),
    ...stats.sources.flatMap(sourceMetrics),
    ...metricsOf(metricsPrefix, [contradictedRow(stats.contradictedAnswers)], { source: 'rpc' }),
    ...venueMetrics(stats),
  ];
}

function sourceMetrics({ name, first, leadMs, holes, contradicted, contradictedBy }: IngestStats['sources'][number]): Metric[] {
  const lead: MetricRow = [
    'source_lead_seconds',
    'How far it was ahead on average, if others reported the transaction too.',
    inSeconds(leadMs),
  ];
  const rows: MetricRow[] = [
    ['source_first_total', 'Transactions that a source reported before all others.', first],
    ...(leadMs === null ? [] : [lead]),
    ['source_holes_total', 'Slots of which it knows that it missed something.', holes],
    ['source_contradicted_total', 'Transactions that it reported with other contents than the confirmed block has.', contradicted],
    contradictedRow(contradictedBy),
  ];
  return metricsOf(metricsPrefix, rows, { source: name });
}

function contradictedRow(by: Readonly<Record<number, number>>): MetricRow {
  return ['endpoint_contradicted_total', 'Transactions that an endpoint reported otherwise than the endpoints agree.', { endpoint: by }];
}

function endpointMetrics({ source, index, state, slotsBehind, ...counts }: PubSubHealth): Metric[] {
  const rows: MetricRow[] = [
    ['endpoint_up', 'The endpoint is connected and reports the chain.', state !== 'down'],
    ['endpoint_slots_behind', 'How many slots it is behind the newest.', Math.max(0, slotsBehind)],
    ['endpoint_frames_total', 'Frames that it sent.', counts.frames],
    ['endpoint_malformed_total', 'Frames of an unknown form.', counts.malformedFrames],
    ['endpoint_connects_total', 'Attempts to connect to it.', counts.connects],
    ['endpoint_dropped_total', 'Times that it was dropped for frames that no honest node sends.', counts.drops],
    ['endpoint_refused_subscriptions_total', 'Subscriptions that it refused.', counts.refusedSubscriptions],
  ];
  return metricsOf(metricsPrefix, rows, { endpoint: String(index + 1), source });
}

function continuityRows({ continuity, slot }: IngestStats): MetricRow[] {
  if (continuity === null) return [];
  const { watermark, outvoted, slots, gaps, blocks, forks, settlement } = continuity;
  const { open, ...states } = slots;
  const { read, unread, contradicted } = settlement;
  return [
    ['watermark_slot', 'Slot up to which everything is known to be complete; 0 before the first.', watermark],
    [
      'watermark_slots_behind',
      'Slots from the watermark to the newest; 0 if this process does not lead.',
      watermark === 0 ? 0 : Math.max(0, slot - watermark),
    ],
    ['slots_open', 'Slots whose state is not known yet.', open],
    ['slots_total', 'Slots by state: seen live, filled from history, without a block, on a dead fork, unknown.', { kind: states }],
    ['slots_unsettled', 'Confirmed slots that wait for their block.', settlement.pending],
    [
      'slots_settled_total',
      'Confirmed slots with events, by what was found of their block: read, unread (confirmed by votes alone), contradicted by endpoints.',
      { kind: { read, unread, contradicted } },
    ],
    ['settlement_outvoted_total', 'Confirmed blocks of one endpoint that the majority did not share.', settlement.outvoted],
    ['transactions_replaced_total', 'Reported transactions that the confirmed block of their slot lacks.', forks.replaced],
    [
      'transactions_contested_total',
      'Transactions reported with different contents for one slot, and read again from the confirmed chain.',
      forks.contested,
    ],
    ['confirmations_outvoted_total', 'Slots that an endpoint confirmed and too few others ever did.', outvoted],
    ['gap_transactions_total', 'Transactions not seen live that were read from history.', gaps.filled],
    ['gap_transactions_lost_total', 'Transactions not seen live that no endpoint shows.', gaps.lostTransactions],
    [
      'gap_slots_lost_total',
      'Slots not seen live that no endpoint lists any more, or that endpoints contradict each other about.',
      gaps.lostSlots,
    ],
    [
      'gap_blocks_total',
      'Whole blocks requested to fill gaps: read, of these incomplete, reported as skipped, no longer available, refused.',
      { kind: { ...blocks } },
    ],
    ['gap_rounds_failed_total', 'Comparisons with the records of nodes that no endpoint answered completely.', gaps.failedRounds],
  ];
}

const lossRows = (lost: number, missed: number): MetricRow[] => [
  ['venue_lost_total', 'Decoded events that were not published: their pool, or the numbers that complete them, could not be read.', lost],
  ['venue_missed_total', 'Gaps between two trades on a curve: no source reported what happened between them.', missed],
];

/** Of each venue: what became of its events and accounts. */
export function venueMetrics({ venues }: Pick<IngestStats, 'venues'>): Metric[] {
  return Object.entries(venues).flatMap(([venue, { lost, missed, ...sources }]) => [
    ...metricsOf(metricsPrefix, lossRows(lost, missed), { venue }),
    ...Object.entries(sources).flatMap(([source, { decoded, unknown, malformed }]) => {
      const rows: MetricRow[] = [
        ['decoded_total', 'Events and accounts of a venue that were decoded.', decoded],
        ['unknown_total', 'Events and accounts of an unknown kind; the program may have changed.', unknown],
        ['malformed_total', 'Events and accounts of a known kind with an unknown layout; the program may have changed.', malformed],
      ];
      return metricsOf(metricsPrefix, rows, { venue, source });
    }),
  ]);
}

/** For `/readyz` of an ingest process. A process that does not lead is as ready as the leader. */
export function ingestParts({ endpoints, endpointsUp, slotAgeMs, busAnswers, continuity, changedVenues }: IngestStats): Parts {
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
  const layouts =
    changedVenues.length === 0
      ? null
      : `Many events of ${changedVenues.join(', ')} have an unknown layout, so some are missing. The program may have changed.`;
  return { chain, bus: busAnswers ? null : 'The bus does not answer.', blocks, layouts };
}
