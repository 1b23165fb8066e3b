import { clockRow } from '@sluice/shared/operations/clock-metrics.ts';
import { inSeconds, metricsOf, type Metric, type MetricRow } from '@sluice/shared/operations/metric.ts';
import type { Parts } from '@sluice/shared/operations/readiness.ts';
import { rpcMetrics } from '@sluice/shared/operations/rpc-metrics.ts';
import type { EndpointHealth } from '@sluice/shared/solana/rpc/rpc.ts';
import type { RpcAccountReader } from '../reads/chain/rpc-account-reader.ts';
import type { Lag } from './lag.ts';
import type { CountingLimiter } from '../ratelimit/limiter.ts';
import type { TokenBook } from '../reads/tokens/token-book.ts';
import { version, type OperationsParts } from './report.ts';
import type { Store } from '../store/store.ts';
import type { Hub } from '../stream/hub.ts';

/** The counters of the read endpoints. */
export interface ReadCounters {
  readonly tokens: TokenBook;
  readonly accounts: RpcAccountReader['counters'];
  /** One entry for each RPC endpoint. */
  readonly rpc: () => readonly EndpointHealth[];
}

/** The gateway's metrics. No label has an unbounded set of values. */
export function gatewayMetrics(of: OperationsParts, parts: Parts, lag: Lag): Metric[] {
  const { hub, fleet, counters, store, requests } = of;
  const descriptors = of.transport()?.descriptors;
  const works = Object.fromEntries(Object.entries(parts).map(([part, fault]) => [part, fault === null]));
  const refused = Object.fromEntries(Object.entries(fleet.seal.refused).map(([purpose, count]) => [purpose.replaceAll(' ', '_'), count]));
  return [
    ...metricsOf('sluice_gateway', [
      ['info', 'Always 1; the version of the program.', { version: { [version]: 1 } }],
      ['draining', 'The gateway is draining and accepts no new connections.', of.isDraining()],
      ['part_ok', 'What `/readyz` says of a part.', { part: works }],
      ['gateways', 'Gateways on the same bus, this one among them.', fleet.size()],
      ['lag_slots', 'Slots by which ingest is behind the newest slot that this gateway knows; -1 if it knows none.', lag.slots],
      ['lag_seconds', 'Time since ingest received a new slot, as of its last report; -1 if none reports one.', inSeconds(lag.ms)],
      ['requests_open', 'Requests over HTTP that wait for their answer.', requests.open],
      ['descriptors_scarce', '1 if few file descriptors are left, so that new streams are refused.', descriptors?.scarce ?? false],
      ['connections_refused_total', 'New connections closed at once, because few file descriptors are left.', descriptors?.closed ?? 0],
      ['records_refused_total', 'Records from Redis refused: not sealed by a gateway, expired, or used before.', { kind: refused }],
      ...streamRows(hub),
      ...limitRows(fleet.limiter),
      ...readRows(counters),
      ...(store === null ? [] : storeRows(store)),
    ]),
    ...rpcMetrics('sluice_gateway', counters.rpc()),
  ];
}

function streamRows(hub: Hub): MetricRow[] {
  const { stats, fanout, dialect, history } = hub;
  const bus = hub.bus.counters;
  return [
    ['bus_link_up', 'The link to the bus is up.', hub.delivery.linkUp],
    ['bus_refills_total', 'Times that announcements were missing and the log was read instead.', bus.refills],
    ['bus_malformed_total', 'Messages on the bus that were malformed.', bus.malformed],
    ['bus_epochs_total', 'Epochs of the log that ended.', bus.epochChanges],
    ['connections', 'Open stream connections.', hub.connections.size],
    ['compressed_connections', 'Open stream connections whose messages are compressed.', hub.connections.compressed],
    ['buffered_bytes', 'Bytes buffered in this process for stream connections.', hub.slowConsumers.bufferedBytes],
    ['catch_ups', 'Replays in progress.', hub.catchUps.size],
    ['topics', 'Topics with at least one follower.', fanout.topicCount + dialect.topicCount],
    ['history_entries', 'Events retained for replays.', history.entries],
    ['history_bytes', 'Memory of the retained events.', history.bytes],
    ['stream_latency_seconds', 'From the publication of an event until it was passed to the transport.', stats.latencyUs.distribution()],
    ['connections_opened_total', 'Stream connections accepted.', stats.connectionsOpened],
    ['handshakes_refused_total', 'Stream handshakes refused.', stats.refusedHandshakes],
    ['events_total', 'Events received from the bus.', stats.events],
    ['publishes_total', 'Messages published to a group of sockets.', stats.publishes],
    ['published_bytes_total', 'Bytes of the published messages, counted once for each group.', stats.publishedBytes],
    ['replayed_frames_total', 'Frames replayed from history.', stats.replayedFrames],
    ['gaps_total', 'Losses reported to clients that followed a topic.', stats.losses],
    [
      'resumes_incomplete_total',
      'Gaps reported to resuming clients: their position was too old, or belongs to another log.',
      stats.incompleteResumes,
    ],
    ['lost_entries_total', 'Entries that the bus reported as lost.', stats.lostEntries],
    ['unreadable_entries_total', 'Entries of the bus that could not be read.', stats.unreadableEntries],
    ['drops_total', 'Messages that were dropped because the send buffer of a socket was full.', stats.drops],
    ['slow_closes_total', 'Connections closed as slow consumers.', stats.slowCloses],
    ['silent_closes_total', 'Connections closed because the client had sent nothing for too long.', stats.idleCloses],
    ['commands_total', 'Messages from clients.', stats.commands],
    ['commands_refused_total', 'Messages refused with an error.', stats.refusedCommands],
  ];
}

function limitRows({ unavailable, counters: { taken, refused, local, outages, overruled } }: CountingLimiter): MetricRow[] {
  return [
    ['limits_local', 'Limits are counted by this gateway alone: Redis does not answer.', unavailable],
    ['limit_admitted_total', 'Requests of keys admitted by their limits.', taken],
    ['limit_refused_total', 'Requests of keys refused by their limits.', refused],
    ['limit_local_total', 'Checks of limits that were counted locally.', local],
    ['limit_outages_total', 'Times that Redis stopped answering for limits.', outages],
    ['limit_overruled_total', 'Requests that Redis admitted beyond what this gateway admits of a key by itself.', overruled],
  ];
}

function readRows({ tokens, accounts }: ReadCounters): MetricRow[] {
  const { counters } = tokens;
  return [
    ['tokens', 'Tokens in memory that were requested.', tokens.size],
    ['token_loads_total', 'Tokens that were cold and read.', counters.loads],
    ['token_refreshes_total', 'Tokens that were read again.', counters.refreshes],
    ['token_shared_total', 'Requests for a token that was being read already.', counters.shared],
    ['token_refused_total', 'Requests refused because too many tokens were being read.', counters.refused],
    ['token_negative_hits_total', 'Requests for an address that is known not to be a token.', counters.negativeHits],
    ['token_evicted_total', 'Tokens evicted to make space for others.', counters.evicted],
    ['chain_calls_total', 'Reads of accounts sent to nodes.', accounts.calls],
    ['chain_failures_total', 'Reads of accounts without a usable answer.', accounts.failures],
    ['chain_shared_total', 'Reads of accounts that shared a running call.', accounts.shared],
    ['chain_refused_total', 'Reads of accounts refused because too many waited.', accounts.refused],
    ['chain_alone_total', 'Reads of accounts that only one endpoint answered.', accounts.alone],
    ['chain_contradicted_total', 'Reads of accounts that the endpoints answered differently, without a majority.', accounts.contradicted],
  ];
}

function storeRows({ health, time }: Pick<Store, 'health' | 'time'>): MetricRow[] {
  return [
    ['store_calls_total', 'Reads and changes of the store.', health.calls],
    ['store_failures_total', 'Reads and changes that the store did not answer.', health.failures],
    clockRow(time),
  ];
}
